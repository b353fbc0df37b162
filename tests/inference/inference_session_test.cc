#include "kusari/framework/inference/inference_session.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/memory.h"
#include "kusari/tests/inference/inference_testing.h"

namespace kusari {
namespace {

using testing::called;
using testing::Decider;
using testing::draw_statistics;
using testing::exact_passes;
using testing::InferenceMlp;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::Tagger;
using testing::TwoHeads;
using testing::words;

// The bits of define-by-run without folding, and numbers close to them with.
template <class Model, class... Inputs>
void check_model(Model& model, const Inputs&... inputs) {
  draw_statistics(model);
  const Array expected = called(model, inputs...).array();
  const InferenceSession exact(model, {.passes = exact_passes()}), fast(model);
  for (int i = 0; i < 2; ++i) {
    CHECK(same_bits(exact.run({inputs...})[0], expected));
    CHECK(relative_error(fast.run({inputs...})[0], expected) < 1e-4);
  }
  CHECK(same_bits(fast.run({inputs...})[0], fast.run({inputs...})[0]));
  CHECK(fast.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("inference sessions compute what the model computes") {
  random::seed(11);
  SUBCASE("mlp") {
    InferenceMlp model;
    check_model(model, numbers({3, 6}));
  }
  SUBCASE("resnet18") {
    L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
    check_model(model, numbers({2, 3, 32, 32}));
  }
  SUBCASE("mobilenet v2") {
    L::MobileNetV2 model({.n_classes = 10, .stem = L::MobileNetV2Stem::cifar});
    check_model(model, numbers({1, 3, 32, 32}));
  }
  SUBCASE("lstm over sequences") {
    Tagger model;
    check_model(model, numbers({4, 3, 5}));
  }
  SUBCASE("transformer") {
    L::TransformerLM model(23, {.block = 16, .layers = 2, .heads = 2, .width = 16});
    check_model(model, words({2, 9}, 23));
  }
}

TEST_CASE("inference sessions take callables, several inputs and several results") {
  random::seed(12);
  TwoHeads model;
  const Array x = numbers({2, 3, 7, 5}), ids = words({2, 4}, 11);
  const auto [scores, maps] = called(model, x, ids);
  for (const bool is_link : {true, false}) {
    CAPTURE(is_link);
    const auto call = [model](const Variable& image, const Variable& rows) { return model(image, rows); };
    const InferenceSession session = is_link ? InferenceSession(model) : InferenceSession(call, {.name = "lambda"});
    const Arrays y = session.run({x, ids});
    REQUIRE(y.size() == 2);
    CHECK(same_bits(y[0], scores.array()));
    CHECK(same_bits(y[1], maps.array()));
    CHECK(session.name() == (is_link ? "TwoHeads" : "lambda"));
  }
  // Inputs that are no dense arrays, and those in another memory order.
  const InferenceSession session(model);
  const Array wide = numbers({2, 3, 7, 10});
  const Array half = wide.slice(3, 0, 5, 2);
  CHECK(same_bits(session.run({half, ids})[0], called(model, half.contiguous(), ids).first.array()));
  CHECK(same_bits(session.run({x.channels_last(), ids})[0], scores.array()));
}

TEST_CASE("results of inference sessions share no memory with inputs, parameters and each other") {
  const InferenceMlp model;
  const Array x = numbers({2, 6});
  const InferenceSession itself([](const Variable& v) { return Variables(v, F::reshape(v, {3, 4})); });
  const Arrays y = itself.run({x});
  CHECK(&y[0].storage() != &x.storage());
  CHECK(&y[1].storage() != &x.storage());
  CHECK(same_bits(y[0], x));
  const InferenceSession weights([model](const Variable&) { return Variable(model.l1.W.array(), false); });
  CHECK(&weights.run({x})[0].storage() != &model.l1.W.array().storage());
  const InferenceSession session(model);
  const Array first = session.run({x})[0], kept = first.copy();
  const Array second = session.run({numbers({2, 6}, 2)})[0];
  CHECK(same_bits(first, kept));
  CHECK_FALSE(same_bits(first, second));
}

TEST_CASE("inference sessions are frozen: parameters that change are noticed, and copies do not") {
  InferenceMlp model;
  const Array x = numbers({2, 6});
  const InferenceSession shared(model), own(copy(model, CopyMode::copy));
  const Array before = own.run({x})[0];
  CHECK(same_bits(shared.run({x})[0], before));
  model.l1.b.array().fill(3);
  CHECK(same_bits(own.run({x})[0], before));
  CHECK_THROWS_WITH_AS(shared.run({x}),
                       "InferenceSession 'InferenceMlp': somebody has written into the parameters since they were "
                       "folded; make another session, or give it a copy of the model: InferenceSession(copy(model, "
                       "CopyMode::copy))",
                       StateError);
  InferenceMlp moved = copy(model, CopyMode::copy);
  const Array expected = called(moved, x).array();
  const InferenceSession session(std::move(moved), {.passes = exact_passes()});
  CHECK(same_bits(session.run({x})[0], expected));
}

TEST_CASE("inference sessions write into given arrays without allocating") {
  random::seed(13);
  L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const Array x = numbers({1, 3, 32, 32}), y = empty({1, 10});
  const InferenceSession session(model, {.shapes = {{{1, 3, 32, 32}}}});
  const Array expected = session.run({x})[0];
  session.run({x}, {y});
  CHECK(same_bits(y, expected));
  y.fill(0);
  memory::reset_max_allocated();
  const memory::Statistics before = memory::statistics();
  for (int i = 0; i < 5; ++i) session.run({x}, {y});
  const memory::Statistics after = memory::statistics();
  // Without the pool (AddressSanitizer) what kernels need for a while comes from the system each time.
  const auto system_allocations = [] { return memory::statistics().system_allocations; };
  numbers({4});
  const int64_t first = system_allocations();
  numbers({4});
  if (system_allocations() == first) CHECK(after.system_allocations == before.system_allocations);
  CHECK(after.allocated == before.allocated);
  CHECK(same_bits(y, expected));

  // The memory of kernels for a while, but no array of the results' size.
  const InferenceSession wide([](const Variable& v) { return F::relu(v) * 2.0; });
  const Array big = numbers({1 << 20}), into = empty({1 << 20});
  wide.run({big}, {into});
  memory::reset_max_allocated();
  const int64_t in_use = memory::statistics().allocated;
  wide.run({big}, {into});
  CHECK(memory::statistics().max_allocated - in_use < big.nbytes() / 8);
  wide.run({big});
  CHECK(memory::statistics().max_allocated - in_use >= big.nbytes());
}

TEST_CASE("arrays for results may lie in any order, and be the inputs") {
  const InferenceSession session([](const Variable& v) { return F::transpose(v) * 2.0 + v; });
  const Array x = numbers({5, 5});
  const Array expected = session.run({x})[0];
  const Array wide = zeros({5, 10});
  session.run({x}, {wide.slice(1, 0, 5, 2)});
  CHECK(same_bits(wide.slice(1, 0, 5, 2), expected));
  CHECK(same_bits(wide.slice(1, 1, 5, 2), zeros({5, 5})));
  session.run({x}, {x});
  CHECK(same_bits(x, expected));
}

TEST_CASE("inference sessions keep a bounded number of recordings and of bytes") {
  const InferenceMlp model;
  const InferenceSession session(model, {.max_plans = 3, .passes = exact_passes()});
  const auto run_all = [&] {
    for (int64_t n = 1; n <= 40; ++n) CHECK(session.run({numbers({n, 6})})[0].shape() == Shape{n, 4});
  };
  run_all();
  CHECK(session.plan_count() == 3);
  const int64_t in_use = memory::statistics().allocated;
  for (int i = 0; i < 5; ++i) run_all();
  CHECK(session.plan_count() == 3);
  CHECK(memory::statistics().allocated <= in_use + (64 << 10));
  CHECK(session.summary().find("(at most 3), 240 made, 237 dropped") != std::string::npos);
  // The one that was used last stays.
  session.run({numbers({38, 6})});
  session.run({numbers({1, 6})});
  CHECK(session.summary().find("(38, 6)") != std::string::npos);
  CHECK(session.summary().find("(39, 6)") == std::string::npos);
}

TEST_CASE("inference sessions pad batches to the sizes that are recorded") {
  const InferenceMlp model;
  const InferenceSession session(model, {.shapes = {{{1, 6}}}, .batch_sizes = {1, 4, 16}, .passes = exact_passes()});
  CHECK(session.plan_count() == 3);
  for (const int64_t n : {0, 1, 2, 4, 5, 16, 17, 40}) {
    CAPTURE(n);
    const Array x = numbers({n, 6});
    const Array y = session.run({x})[0], into = empty({n, 4});
    CHECK(y.shape() == Shape{n, 4});
    if (n > 0) CHECK(relative_error(y, called(model, x).array()) < 1e-5);
    session.run({x}, {into});
    CHECK(same_bits(into, y));
  }
  CHECK(session.plan_count() == 3);
  CHECK(session.summary().find("batches get rows until there are 1 4 16") != std::string::npos);

  const InferenceSession sum([](const Variable& x) { return F::sum(x); }, {.batch_sizes = {4}});
  CHECK_THROWS_WITH_AS(sum.run({numbers({3, 2})}),
                       "InferenceSession 'function': with batch_sizes each result must have a row for each row of the "
                       "inputs, but result 0 for a batch of 4 is float32 ()",
                       TypeError);
  const InferenceSession add([](const Variable& a, const Variable& b) { return a + b; }, {.batch_sizes = {4}});
  CHECK_THROWS_WITH_AS(
      add.run({numbers({3, 2}), numbers({1, 2})}),
      "InferenceSession 'function': with batch_sizes all inputs must have the same first axis, but they "
      "are float32 (3, 2), float32 (1, 2)",
      TypeError);
}

TEST_CASE("inference sessions compute in the dtype that is asked for") {
  random::seed(14);
  L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
  draw_statistics(model);
  const Array x = numbers({2, 3, 32, 32});
  const Array expected = called(model, x).array();
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    const InferenceSession session(model, {.dtype = dtype});
    const Array y = session.run({x})[0];
    CHECK(y.dtype() == Dtype::float32);
    CHECK(relative_error(y, expected) < (dtype == Dtype::float32 ? 1e-4 : dtype == Dtype::float16 ? 2e-2 : 1e-1));
    CHECK(same_bits(session.run({x.astype(Dtype::float64).astype(Dtype::float32)})[0], y));
    CHECK(session.summary().find(std::string("dtype: ") + name(dtype)) != std::string::npos);
  }
  CHECK(model.conv1.W.dtype() == Dtype::float32);

  L::ResNet18 half = copy(model, CopyMode::copy);
  half.to(Dtype::bfloat16);
  const Array plain = called(half, x.astype(Dtype::bfloat16)).array();
  const InferenceSession exact(model, {.dtype = Dtype::bfloat16, .passes = exact_passes()});
  CHECK(relative_error(exact.run({x})[0], plain) < 2e-2);
}

TEST_CASE("inference sessions run models that cannot be recorded as they are") {
  const Decider model;
  const InferenceSession session(model);
  for (const float value : {1.0f, -1.0f}) {
    const Array x = full({2, 6}, value, Dtype::float32), y = empty({2, 4});
    const Array expected = called(model, x).array();
    CHECK(same_bits(session.run({x})[0], expected));
    session.run({x}, {y});
    CHECK(same_bits(y, expected));
  }
  CHECK(session.summary().find("define-by-run, because") != std::string::npos);
  CHECK(session.summary().find("Array::item") != std::string::npos);

  const auto off = using_config(&Config::use_static_graph, false);
  const InferenceMlp mlp;
  const InferenceSession plain(mlp);
  const Array x = numbers({2, 6});
  CHECK(same_bits(plain.run({x})[0], called(mlp, x).array()));
  CHECK(plain.summary().find("all calls run define-by-run: config().use_static_graph is off") != std::string::npos);
}

struct Stateful : Chain {
  Child<L::LSTM> lstm{*this, "lstm", 6, 4};
  Variable operator()(const Variable& x) const { return lstm.lateral(x); }
};

struct Lazy : Chain {
  Child<L::Linear> fc{*this, "fc", kInfer, 4};
  Variable operator()(const Variable& x) const { return fc(x); }
};

TEST_CASE("inference sessions say what is wrong") {
  const InferenceMlp model;
  const InferenceSession session(model);
  const Array x = numbers({2, 6});
  CHECK_THROWS_WITH_AS(session.run({x, x}), "InferenceSession 'InferenceMlp': run got 2 inputs, but the model takes 1",
                       TypeError);
  CHECK_THROWS_WITH_AS(session.run({Array()}), "InferenceSession 'InferenceMlp': input 0 is undefined", TypeError);
  CHECK_THROWS_WITH_AS(
      session.run({numbers({2, 7})}),
      "InferenceSession 'InferenceMlp': the model refuses (float32 (2, 7)): F::linear: x has shape (2, "
      "7) but W has shape (16, 6): x.shape[1] must equal W.shape[1] (7 != 6)",
      TypeError);
  CHECK(session.plan_count() == 0);
  CHECK_THROWS_WITH_AS(session.run({words({2, 6}, 5)}),
                       doctest::Contains("the model refuses (int32 (2, 6)): F::linear"), TypeError);
  session.run({x});
  CHECK_THROWS_WITH_AS(
      session.run({x}, {empty({2, 5})}),
      "InferenceSession 'InferenceMlp': result 0 is float32 (2, 4), but the array for it is float32 (2, "
      "5)",
      TypeError);
  CHECK_THROWS_WITH_AS(session.run({x}, {x, x}), "InferenceSession 'InferenceMlp': run got 2 arrays for 1 results",
                       TypeError);
  CHECK_THROWS_WITH_AS(InferenceSession(model, {.max_plans = 0}),
                       "InferenceSession 'InferenceMlp': max_plans is 0, but must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(InferenceSession(model, {.batch_sizes = {4, 4}}),
                       "InferenceSession 'InferenceMlp': batch_sizes must be positive and grow, but number 1 is 4",
                       ValueError);
  CHECK_THROWS_WITH_AS(InferenceSession(model, {.dtype = Dtype::int32}),
                       "InferenceSession 'InferenceMlp': dtype is int32, but must be floating", ValueError);
  CHECK_THROWS_WITH_AS(
      InferenceSession([](const Variable& v) { return v; }, {.dtype = Dtype::float16}),
      "InferenceSession 'function': dtype needs a link, whose parameters can be converted; convert those "
      "of the callable with Link::to",
      ValueError);
  CHECK_THROWS_WITH_AS(InferenceSession{Lazy()},
                       "InferenceSession 'Lazy': parameter /fc/W has no numbers yet; load them, or call the model once",
                       StateError);
  CHECK_THROWS_WITH_AS(InferenceSession{Stateful()},
                       "InferenceSession 'Stateful': the model keeps a state between calls, /lstm/c; take it as an "
                       "argument and return it",
                       StateError);
  CHECK_THROWS_WITH_AS(InferenceSession(model, {.shapes = {{{2, 7}}}}), doctest::Contains("the model refuses"),
                       TypeError);
}

TEST_CASE("summaries of inference sessions tell what was recorded") {
  random::seed(15);
  L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
  const InferenceSession session(model, {.shapes = {{{1, 3, 32, 32}}, {{2, 3, 32, 32}}}});
  const std::string summary = session.summary();
  for (const char* const text :
       {"InferenceSession 'ResNet18': recordings for 2 kinds of inputs (at most 8), 2 made, 0 dropped; calls at one "
        "time: 1 at most",
        "(float32 (1, 3, 32, 32)): recorded in", "(float32 (2, 3, 32, 32)): recorded in",
        "fold_batch_normalization:", "convolution_fused_forward", "kernels run once", "arena"}) {
    const std::string part = text;
    CAPTURE(part);
    CAPTURE(summary);
    CHECK(summary.find(part) != std::string::npos);
  }
  CHECK(summary.find("when parameters change") == std::string::npos);
  // Folded weights are there once, and what is recorded leaves nothing beside the model's own.
  CHECK(summary.find("constants: 0 kernels run once, 42.587 MiB, of which 42.587 MiB were there for other inputs") !=
        std::string::npos);
  CHECK(model.conv1.W.array().storage().attachment.load() == nullptr);
}

TEST_CASE("constants that recordings share are worked out again where those of one of them follow from them") {
  Parameter w(Shape{4}, 0.5);
  const auto model = [&](const Variable& x) {
    const Variable shared = F::exp(w);
    const Variable own = F::exp(F::broadcast_to(shared, x.shape()));  // another one for each batch
    return x * F::broadcast_to(shared, x.shape()) + own;
  };
  const InferenceSession session(model);
  Arrays later;
  for (int i = 0; i < 2; ++i) {
    for (const int64_t batch : {2, 3, 5}) {
      CAPTURE(batch);
      const Array x = numbers({batch, 4});
      CHECK(relative_error(session.run({x})[0], model(Variable(x)).array()) < 1e-6);
      for (int k = 0; k < 16; ++k) later.push_back(full({4}, 1e9, Dtype::float32));  // into whatever was given back
    }
  }
}

/// Makes a table at its first call, with kernels.
struct WithTable : Chain {
  Child<L::Linear> fc{*this, "fc", 6, 4};
  mutable Variable table;
  Variable operator()(const Variable& x) const {
    if (!table.is_defined()) table = F::exp(Variable(ones({6}), false));
    return fc(x * table);
  }
};
/// Gives the sum of all that it was given.
struct Counter : Chain {
  mutable Variable sum;
  Variable operator()(const Variable& x) const {
    sum = sum.is_defined() ? sum + x : x * 1.0;
    return sum;
  }
};

struct CountHook final : FunctionHook {
  int calls = 0;
  void forward_preprocess(const FunctionNode&, const ArrayRefs&) override { ++calls; }
};

TEST_CASE("hooks of the thread see nothing of a recording") {
  const InferenceMlp model;
  const Array x = numbers({2, 6});
  CountHook hook;
  const ScopedFunctionHook scope(hook);
  const InferenceSession session(model);
  session.run({x});
  CHECK(hook.calls == 0);
  CHECK(session.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("inference sessions find out what a model keeps from call to call") {
  const Array x = numbers({2, 6});
  const WithTable model;
  const InferenceSession session(model);
  for (int i = 0; i < 3; ++i) CHECK(same_bits(session.run({x})[0], called(model, x).array()));

  const InferenceSession counter{Counter()};
  counter.run({x});
  CHECK(counter.summary().find("define-by-run, because") != std::string::npos);
  CHECK(counter.summary().find("that an earlier call computed") != std::string::npos);
}

TEST_CASE("a session gives up its model once its calls are prepared") {
  InferenceMlp model;
  testing::draw_statistics(model);
  const Array x = numbers({3, 6}), other = numbers({2, 6});
  const Array expected = InferenceSession(model).run({x})[0];
  InferenceSession session(copy(model, CopyMode::copy), {.shapes = {{{3, 6}}}, .release_parameters = true});
  CHECK(same_bits(session.run({x})[0], expected));
  CHECK(session.summary().find("the model was released") != std::string::npos);
  CHECK_THROWS_WITH_AS(
      session.run({other}),
      "InferenceSession 'InferenceMlp': the model was released when the calls in shapes were prepared, so "
      "that (float32 (2, 6)) cannot be recorded",
      StateError);
  CHECK(same_bits(session.run({x})[0], expected));
  CHECK_THROWS_WITH_AS(
      InferenceSession(copy(model, CopyMode::copy), {.release_parameters = true}),
      "InferenceSession 'InferenceMlp': release_parameters needs calls that are prepared and recorded, "
      "but shapes is empty",
      StateError);
  CHECK_THROWS_AS(InferenceSession(testing::Decider(), {.shapes = {{{3, 6}}}, .release_parameters = true}), StateError);
}

}  // namespace
}  // namespace kusari
