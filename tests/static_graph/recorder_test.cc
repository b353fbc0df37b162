#include "kusari/framework/static_graph/recorder.h"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/static_graph/traced_call.h"

namespace kusari::graphs {
namespace {

Array uniform(const Shape& shape, uint64_t seed, Dtype dtype = Dtype::float32) {
  const random::LocalStream stream(seed);
  const Array result = empty(shape, dtype);
  initializers::Uniform(1.0)(result);
  return result;
}

Variable input(const Shape& shape, uint64_t seed) { return Variable(uniform(shape, seed), true); }

size_t steps_of(const Recording& recording, Phase phase) {
  size_t n = 0;
  for (const Step& step : recording.program.steps) n += step.phase == phase ? 1 : 0;
  return n;
}

size_t slots_of(const Recording& recording, Slot::Kind kind) {
  size_t n = 0;
  for (const Slot& slot : recording.program.slots) n += slot.kind == kind ? 1 : 0;
  return n;
}

class Mlp : public Chain {
 public:
  Mlp() : l1{*this, "l1", kInfer, 5}, l2{*this, "l2", 5, 4} {}
  Variable operator()(const Variable& x) { return l2(F::relu(l1(x))); }

 private:
  Child<L::Linear> l1, l2;
};

// A call under a recorder, and again without one.
void check_replays(const Callable& call, const std::function<std::vector<Variable>(uint64_t seed)>& inputs,
                   bool backward = true) {
  const std::vector<Variable> some = inputs(1), others = inputs(2);
  random::seed(7);
  const TracedCall recorded(call, some, backward);
  CHECK(recorded.recording.escapes.empty());
  random::seed(7);
  const TracedCall::Results again = recorded.replay(some);
  CHECK(equal_bits(recorded.first.outputs, again.outputs));
  CHECK(equal_bits(recorded.first.gradients, again.gradients));
  // What define-by-run gives for other inputs, and where the stream of random numbers is then.
  random::seed(8);
  const TracedCall other(call, others, backward);
  const RandomState state = random::state();
  random::seed(8);
  const TracedCall::Results replayed = recorded.replay(others);
  CHECK(equal_bits(other.first.outputs, replayed.outputs));
  CHECK(equal_bits(other.first.gradients, replayed.gradients));
  CHECK(random::state().offset == state.offset);
}

}  // namespace

TEST_CASE("recorder: forward and backward of a network replay with other inputs") {
  Mlp model;
  const auto call = [&](const std::vector<Variable>& x) { return Variables(F::sum(model(x[0]))); };
  const TracedCall first(call, {input({3, 6}, 1)});
  // Parameters get their numbers during the first call, which is no part of it.
  CHECK(slots_of(first.recording, Slot::Kind::leaf) == 4);
  CHECK(slots_of(first.recording, Slot::Kind::external) == 0);
  CHECK(slots_of(first.recording, Slot::Kind::input) == 2);  // x and the gradient of the sum
  CHECK(first.recording.leaves.size() == 4);
  CHECK(first.recording.inputs.size() == 1);
  CHECK(first.recording.output_gradients.size() == 1);
  CHECK(first.recording.gradients.size() == 5);
  CHECK(steps_of(first.recording, Phase::forward) == 4);
  CHECK(steps_of(first.recording, Phase::backward) > 4);
  check_replays(call, [](uint64_t seed) { return std::vector<Variable>{input({3, 6}, seed)}; });
}

TEST_CASE("recorder: inputs that share memory when recorded are separate arguments of a replay") {
  const Variable x = input({4, 3}, 1);
  const auto call = [](const std::vector<Variable>& v) { return Variables(v[0] * 2 - v[1] * v[2]); };
  const TracedCall recorded(call, {x, x, Variable(x.array(), false)});
  const std::vector<Variable> others = {input({4, 3}, 2), input({4, 3}, 3), Variable(uniform({4, 3}, 4), false)};
  CHECK(equal_bits(recorded.replay(others).outputs, TracedCall(call, others).first.outputs));
}

TEST_CASE("recorder: an input may lie anywhere in its storage") {
  const Array all = uniform({9, 4}, 1);
  const auto call = [](const std::vector<Variable>& v) { return Variables(F::tanh(v[0]) * v[0]); };
  const std::vector<Variable> backwards = {Variable(all.slice(0, 8, 4, -2))};
  const TracedCall recorded(call, backwards);
  CHECK(equal_bits(recorded.replay(backwards).outputs, recorded.first.outputs));
  const std::vector<Variable> others = {Variable(all.slice(0, 7, 4, -2))};
  CHECK(equal_bits(recorded.replay(others).outputs, TracedCall(call, others).first.outputs));
}

TEST_CASE("recorder: a parameter that is also an argument stays a parameter inside") {
  const Variable w = input({3, 3}, 1);
  const auto call = [&](const std::vector<Variable>& v) { return Variables(F::matmul(v[0], w)); };
  const TracedCall recorded(call, {w});
  REQUIRE(recorded.recording.leaves.size() == 1);
  CHECK(recorded.recording.leaves[0].node.get() == w.node());
  const std::vector<Variable> others = {input({3, 3}, 2)};
  CHECK(equal_bits(recorded.replay(others).outputs, TracedCall(call, others).first.outputs));
}

TEST_CASE("recorder: what is made of parameters inside the call is no parameter") {
  const Variable w = input({6}, 1);
  const auto call = [&](const std::vector<Variable>& v) { return Variables(F::reshape(w, {2, 3}) * v[0]); };
  for (const bool backprop : {true, false}) {
    CAPTURE(backprop);
    const auto mode = using_config(&Config::enable_backprop, backprop);
    const TracedCall recorded(call, {input({2, 3}, 2)}, backprop);
    REQUIRE(recorded.recording.leaves.size() == 1);
    CHECK(recorded.recording.leaves[0].node.get() == w.node());
    CHECK(recorded.recording.externals.empty());
  }
}

TEST_CASE("recorder: memory from outside is external, whether it is written or not") {
  const Array table = uniform({2, 3}, 1), sums = zeros({3});
  const auto call = [&](const std::vector<Variable>& v) {
    pointwise_to(sums, kernels::Add{}, sums, v[0].array().at(0));
    return Variables(v[0] * Variable(table));
  };
  const TracedCall recorded(call, {input({2, 3}, 2)});
  REQUIRE(recorded.recording.externals.size() == 2);
  CHECK(recorded.recording.leaves.empty());
  CHECK(recorded.recording.externals[0].array.storage().id == sums.storage().id);
  CHECK(recorded.recording.externals[0].is_written);
  CHECK_FALSE(recorded.recording.externals[1].is_written);
  const std::vector<float> before = sums.to_vector<float>();
  (void)recorded.replay({input({2, 3}, 2)});
  CHECK(sums.at(0).item<float>() == doctest::Approx(2 * before[0]));
}

TEST_CASE("recorder: running statistics move with every replay") {
  L::BatchNormalization model(4), same(4);
  const auto call = [](L::BatchNormalization& link) {
    return [&link](const std::vector<Variable>& v) { return Variables(link(v[0])); };
  };
  const TracedCall recorded(call(model), {input({5, 4}, 1)});
  (void)TracedCall(call(same), {input({5, 4}, 1)});
  const TracedCall::Results replayed = recorded.replay({input({5, 4}, 2)});
  const TracedCall plain(call(same), {input({5, 4}, 2)});
  CHECK(equal_bits(replayed.outputs, plain.first.outputs));
  CHECK(equal_bits(replayed.gradients, plain.first.gradients));
  CHECK(equal_bits(model.avg_mean, same.avg_mean));
  CHECK(equal_bits(model.avg_var, same.avg_var));
}

TEST_CASE("recorder: random numbers come from where the stream is") {
  const auto call = [](const std::vector<Variable>& v) {
    return Variables(F::dropout(F::tanh(F::dropout(v[0], 0.3)), 0.6), F::dropout(v[0]));
  };
  const TracedCall recorded(call, {input({4, 6}, 1)});
  CHECK(recorded.recording.program.forward_random >= 3 * 24);
  CHECK(recorded.recording.program.backward_random == 0);
  check_replays(call, [](uint64_t seed) { return std::vector<Variable>{input({4, 6}, seed)}; });
}

TEST_CASE("recorder: each phase draws from where the stream is when it runs") {
  class NoisyGradient final : public FunctionNode {
   public:
    const char* name() const override { return "noisy_gradient"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
    Variables backward(const Variables& gy) override { return {F::dropout(F::dropout(gy[0], 0.2), 0.4)}; }
  };
  const auto call = [](const std::vector<Variable>& v) {
    return Variables(apply<NoisyGradient>({F::dropout(v[0], 0.3)}));
  };
  const TracedCall recorded(call, {input({4, 6}, 1)});
  CHECK(recorded.recording.program.backward_random == 2 * recorded.recording.program.forward_random);
  check_replays(call, [](uint64_t seed) { return std::vector<Variable>{input({4, 6}, seed)}; });
}

TEST_CASE("recorder: tables that functions make of shapes and options are constants") {
  const Array rows = array<int64_t>({2, -3, 0}), columns = array<int64_t>({1, 1, -1});
  const auto call = [&](const std::vector<Variable>& v) {
    const Variable padded = F::pad(v[0], {{1, 2}}, F::PadMode::reflect);
    return Variables(F::get_item(F::repeat(padded, 2, 1), {rows, columns}));
  };
  check_replays(call, [](uint64_t seed) { return std::vector<Variable>{input({4, 6}, seed)}; });
}

TEST_CASE("recorder: reports and members that calls set") {
  L::Classifier<Mlp> model{Mlp()};
  const Variable x(uniform({3, 6}, 1), false), t(array<int32_t>({0, 1, 3}), false);
  const auto call = [&](const std::vector<Variable>& v) { return Variables(model(v[0], v[1])); };
  Reporter reporter;
  reporter.add_observer("main", model);
  Observation observation;
  const auto scope = reporter.scope(observation);
  const TracedCall recorded(call, {x, t});
  const Recording& r = recorded.recording;
  REQUIRE(r.reports.size() == 2);
  CHECK(r.reports[0].key == "loss");
  CHECK(r.reports[0].value == r.outputs[0]);
  CHECK(r.reports[1].key == "accuracy");
  REQUIRE(r.kept.size() == 3);
  CHECK(r.kept[1].member == &model.loss);
  CHECK(r.program.slots[static_cast<size_t>(r.kept[0].value.slot)].exported == Export::own);
  CHECK(r.escapes.empty());
}

TEST_CASE("recorder: host code runs at its place") {
  std::vector<int> order;
  const auto call = [&](const std::vector<Variable>& v) {
    const Variable y = v[0] * 2;
    static_code([&] { order.push_back(1); });
    GraphCapture::current()->on_replay(GraphCapture::When::after, [&] { order.push_back(2); });
    return Variables(y + 1);
  };
  const TracedCall recorded(call, {input({2}, 1)}, false);
  CHECK(order == std::vector{1});
  REQUIRE(recorded.recording.program.steps.size() == 3);
  CHECK(recorded.recording.program.steps[1].is_code());
  CHECK(recorded.recording.after.size() == 1);
  (void)recorded.replay({input({2}, 1)});
  CHECK(order == std::vector{1, 1});
}

TEST_CASE("recorder: what cannot be replayed is refused by name") {
  const Variable w = input({2}, 9), before = F::tanh(input({2}, 8));
  std::optional<Array> kept;
  using Call = std::function<Variable(const Variable&)>;
  struct Case {
    Call call;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {[](const Variable& x) { return x * x.array().at(0).item<float>(); },
       "Array::item: the host reads an array of shape ()"},
      {[](const Variable& x) { return x * x.to_vector<float>()[0]; },
       "Array::to_vector: the host reads an array of shape (2,)"},
      {[](const Variable& x) {
         return x * Variable(array<float>({1, 2}));
       },
       "from_host: the host fills an array of shape (2,)"},
      {[](const Variable& x) { return x * static_cast<double>(random::bits() % 2); }, "random::bits: "},
      {[&](const Variable& x) { return x * before; },
       "F::mul uses a variable of shape (2,) that F::tanh computed before the call; pass it as an argument"},
      {[](const Variable& x) {
         report({{"x", 1.0}});
         return x * 2;
       },
       "report: 'x' is a number of the host"},
      {[](const Variable& x) {
         x.array().fill(1);
         return x * 2;
       },
       "kernel 'fill': writes into an argument of shape (2,)"},
      {[](const Variable& x) {
         const Array made = empty({2});
         made.data<float>()[0] = made.data<float>()[1] = 2;
         return x * Variable(made);
       },
       "reads an array of shape (2,) that no kernel has written"},
      {[](const Variable& x) {
         const random::LocalStream stream(3);
         return F::dropout(x) + F::dropout(x);
       },
       ""},
      {[](const Variable& x) {
         Variable y = F::dropout(x);
         const random::LocalStream stream(3);
         return y + F::dropout(x);
       },
       "random::reserve inside F::dropout: random numbers come from more than one stream"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.reason);
    const Callable call = [&](const std::vector<Variable>& v) { return Variables(c.call(v[0])); };
    if (c.reason.empty()) {
      CHECK_NOTHROW(TracedCall(call, {input({2}, 1)}));
      continue;
    }
    std::string thrown;
    try {
      TracedCall(call, {input({2}, 1)});
    } catch (const StateError& error) {
      thrown = error.what();
    }
    CHECK(thrown.find("static_graph 'Test': ") == 0);
    CHECK(thrown.find(c.reason) != std::string::npos);
    CHECK(thrown.find("{.fallback = true}") != std::string::npos);
    // The thread is as it was.
    CHECK(GraphCapture::current() == nullptr);
    CHECK_NOTHROW(input({2}, 1).array().at(0).item<float>());
    // And with a fallback the call gives what it gives elsewhere.
    random::seed(1);
    const TracedCall recorded(call, {input({2}, 1)}, true, true);
    CHECK(recorded.recorder.is_refused());
    CHECK(recorded.recorder.reason().find(c.reason) != std::string::npos);
  }
}

TEST_CASE("recorder: the function that reads on the host is named") {
  class Peeking final : public FunctionNode {
   public:
    const char* name() const override { return "peeking"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {full_like(in[0], in[0].at(0).item<float>())}; }
    Variables backward(const Variables& gy) override { return gy; }
  };
  const Callable call = [](const std::vector<Variable>& v) { return Variables(apply<Peeking>({v[0]})); };
  CHECK_THROWS_WITH_AS(
      TracedCall(call, {input({2}, 1)}),
      "static_graph 'Test': Array::item inside F::peeking: the host reads an array of shape (), which a "
      "replay cannot repeat; return the array, or put what is done with it into static_code; or let "
      "such calls run define-by-run with {.fallback = true}",
      StateError);
}

TEST_CASE("recorder: what escapes is known, and stale once the call is replayed") {
  Variable escaped;
  const Callable call = [&](const std::vector<Variable>& v) {
    escaped = F::tanh(v[0]);
    return Variables(escaped * 2);
  };
  const auto mode = no_backprop_mode();
  TracedCall recorded(call, {input({2}, 1)}, false);
  REQUIRE(recorded.recording.escapes.size() == 1);
  CHECK(recorded.recording.escapes[0].storage_id == escaped.array().storage().id);
  CHECK(recorded.recording.escapes[0].function == "F::tanh");
  CHECK_NOTHROW(escaped.to_vector<float>());
  recorded.recorder.expire();
  CHECK_THROWS_WITH_AS(escaped.to_vector<float>(),
                       "Array::to_vector: the array of shape (2,) was computed in an earlier call of static graph "
                       "'Test', which has been replayed since; return it from the call, or keep it with "
                       "GraphCapture::kept",
                       StateError);
  CHECK_THROWS_AS(F::tanh(escaped), StateError);
  CHECK_NOTHROW(recorded.first.outputs[0].to_vector<float>());
}

TEST_CASE("recorder: a call that keeps state for the next is refused when it reads it") {
  Variable h;
  const Callable call = [&](const std::vector<Variable>& v) {
    h = h.is_defined() ? F::tanh(v[0] + h) : F::tanh(v[0]);
    return Variables(h * 2);
  };
  const auto mode = no_backprop_mode();
  const TracedCall first(call, {input({2}, 1)}, false);
  REQUIRE(first.recording.escapes.size() == 1);
  const std::set<uint64_t> escapes = {first.recording.escapes[0].storage_id};
  CHECK_THROWS_WITH_AS(
      TracedCall(call, {input({2}, 1)}, false, false, &escapes),
      "static_graph 'Test': F::add reads an array of shape (2,) that an earlier call computed and kept "
      "for this one; return it from the call, and pass it as an argument; or let such calls run "
      "define-by-run with {.fallback = true}",
      StateError);
}

TEST_CASE("recorder: another thread may free what was recorded") {
  Variable escaped;
  const Callable call = [&](const std::vector<Variable>& v) {
    escaped = v[0] * 3;
    return Variables(v[0] * 2);
  };
  const auto mode = no_backprop_mode();
  TracedCall recorded(call, {input({2000}, 1)}, false);
  CHECK(recorded.recording.escapes.size() == 1);
  std::thread([&] { escaped = Variable(); }).join();
  recorded.recorder.expire();
}

TEST_CASE("recorder: a recorded call needs no more memory than another") {
  Mlp model;
  const Variable x(uniform({512, 256}, 1));
  const Callable call = [&](const std::vector<Variable>& v) {
    Variable y = v[0];
    for (int i = 0; i < 20; ++i) y = F::tanh(y) + 1;
    return Variables(F::sum(y));
  };
  const auto peak = [](const std::function<void()>& run) {
    memory::reset_max_allocated();
    const int64_t before = memory::statistics().allocated;
    run();
    return memory::statistics().max_allocated - before;
  };
  const int64_t plain = peak([&] {
    Variable y = call({Variable(x.array())})[0];
    y.backward();
  });
  const int64_t recorded = peak([&] { TracedCall(call, {x}); });
  CHECK(recorded <= plain + (int64_t{1} << 17));
}

TEST_CASE("recorder: constants of our own functions stay, and may not be written") {
  const auto grid = [] { return host_constant([] { return array<float>({1, 2}); }); };
  const Callable call = [&](const std::vector<Variable>& v) { return Variables(v[0] * Variable(grid())); };
  const TracedCall recorded(call, {input({2}, 1)});
  REQUIRE(recorded.recording.externals.size() == 1);
  CHECK(recorded.recording.externals[0].is_constant);
  const std::vector<Variable> others = {input({2}, 2)};
  CHECK(equal_bits(recorded.replay(others).outputs, TracedCall(call, others).first.outputs));
  const Callable writes = [&](const std::vector<Variable>& v) {
    const Array constant = grid();
    constant.fill(1);
    return Variables(v[0] * Variable(constant));
  };
  CHECK_THROWS_AS(TracedCall(writes, {input({2}, 1)}), StateError);
}

}  // namespace kusari::graphs
