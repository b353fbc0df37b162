#include "kusari/framework/static_graph/passes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/static_graph/program_testing.h"
#include "kusari/tests/static_graph/traced_call.h"

namespace kusari::graphs {
namespace {

/// A program of pointwise kernels, random numbers, changes in place, writes of parts and code, drawn at random. Few
/// kernels and few inputs, so that there are repetitions, chains, and results that nobody reads.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_{seed} {
    has_backward_ = below(3) > 0;
    const Shape shape{1 + below(3), 1 + below(40)};
    shape_ = shape;
    inputs_ = {b_.input(shape), b_.leaf(shape), b_.external(shape)};
    if (below(2) == 0) inputs_.push_back(b_.external({shape[1]}));
    state_ = b_.external(shape);
    arrays_ = inputs_;
    arrays_.push_back(state_);
    const int64_t steps = 3 + below(40);
    const int64_t backward = has_backward_ ? steps / 2 : steps;
    for (int64_t i = 0; i < steps; ++i) {
      if (i == backward) b_.phase = Phase::backward;
      add_step();
    }
  }

  const Program& program() const noexcept { return b_.program; }

  void fill(const ProgramRunner& runner) const {
    float value = -1;
    for (const View& view : inputs_) set(runner, view, value);
    set(runner, state_, value);
  }

  /// What the program is for: its results and the state that it changes.
  std::vector<std::vector<uint32_t>> results(const ProgramRunner& runner) const {
    std::vector<View> views = results_;
    views.push_back(state_);
    std::vector<std::vector<uint32_t>> bits;
    for (const View& view : views) {
      const std::vector<float> values = runner.at(view).to_vector<float>();
      bits.emplace_back(values.size());
      std::memcpy(bits.back().data(), values.data(), values.size() * sizeof(float));
    }
    return bits;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<unsigned>(n)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }

  static void set(const ProgramRunner& runner, const View& view, float& value) {
    std::vector<float> values(static_cast<size_t>(numel(view.shape)));
    for (float& v : values) v = value += 0.37F;
    runner.at(view).copy_from(array<float>(values, view.shape));
  }

  View target() {
    switch (below(6)) {
      case 0:
        results_.push_back(b_.array(Slot::Kind::intermediate, shape_, Dtype::float32, Export::own));
        return results_.back();
      case 1:
        results_.push_back(b_.array(Slot::Kind::intermediate, shape_, Dtype::float32, Export::arena));
        return results_.back();
      default:
        return b_.temporary(shape_);
    }
  }

  View operand() {
    View view = pick(arrays_);
    if (view.shape != shape_) {  // a row, broadcast
      view.strides = {0, view.strides[0]};
      view.shape = shape_;
    } else if (below(8) == 0) {  // the same elements backwards
      view.offset = (numel(shape_) - 1) * itemsize(view.dtype);
      view.strides = {-shape_[1], -1};
    }
    return view;
  }

  void add_step() {
    const View y = target();
    switch (below(12)) {
      case 0:
      case 1:
        b_.pointwise_to(y, kernels::Neg{}, operand());
        break;
      case 2:
      case 3:
        b_.pointwise_to(y, kernels::Relu{}, operand());
        break;
      case 4:
        b_.pointwise_to(y, kernels::AddConst{static_cast<double>(below(2))}, operand());
        break;
      case 5:
      case 6:
      case 7:
        b_.pointwise_to(y, kernels::Add{}, operand(), operand());
        break;
      case 8: {
        Operand state = params_of(RandomState{0, drawn_});
        state.kind = Kind::random_state;
        drawn_ += static_cast<uint64_t>(numel(shape_));
        b_.add<kernels::Uniform>({params_of(kernels::UniformRange{}), state, operand_of(Kind::out, y)});
        break;
      }
      case 9: {  // in two parts
        View left = y, right = y;
        left.shape = {shape_[0], shape_[1] / 2};
        right.shape = {shape_[0], shape_[1] - shape_[1] / 2};
        right.offset = shape_[1] / 2 * itemsize(y.dtype);
        View from = operand();
        from.shape = left.shape;
        b_.pointwise_to(left, kernels::Neg{}, from);
        from.shape = right.shape;
        b_.pointwise_to(right, kernels::Relu{}, from);
        break;
      }
      case 10: {  // in place: a new array, or the state
        if (below(2) == 0) {
          b_.pointwise_to(state_, kernels::Add{}, state_, operand());
          return drop(y);
        }
        b_.pointwise_to(y, kernels::Neg{}, operand());
        b_.pointwise_to(y, kernels::Add{}, y, operand());
        break;
      }
      default:
        b_.code([] {});
        return drop(y);
    }
    arrays_.push_back(y);
  }
  /// A target that no step writes.
  void drop(const View& y) {
    if (!results_.empty() && results_.back() == y) results_.pop_back();
  }

  std::mt19937 random_;
  ProgramBuilder b_;
  bool has_backward_ = false;
  Shape shape_;
  std::vector<View> inputs_, arrays_, results_;
  View state_;
  uint64_t drawn_ = 0;
};

/// How many kernels the passes have dropped or fused in `count` random programs; checks that each computes what it did.
size_t check_random_programs(const StaticGraphPasses& passes, unsigned count) {
  size_t fewer = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    const RandomProgram random(seed);
    const ProgramRunner recorded(random.program());
    random.fill(recorded);
    recorded.run({.seed = 5, .offset = 1000});

    Program program = random.program();
    run_passes(program, passes);
    fewer += random.program().steps.size() - program.steps.size();
    const ProgramRunner planned(program, ProgramRunner::Memory::packed);
    random.fill(planned);
    planned.run({.seed = 5, .offset = 1000});
    REQUIRE(random.results(recorded) == random.results(planned));
  }
  return fewer;
}

TEST_CASE("random programs compute in a packed arena what they compute in memory of their own") {
  CHECK(check_random_programs(StaticGraphPasses::none(), 300) == 0);
}

TEST_CASE("random programs compute the same bits after each pass") {
  StaticGraphPasses passes = StaticGraphPasses::none();
  SUBCASE("dead_kernels") { passes.dead_kernels = true; }
  SUBCASE("common_inputs") { passes.common_inputs = true; }
  SUBCASE("both") { passes.dead_kernels = passes.common_inputs = true; }
  SUBCASE("fuse_pointwise") { passes.fuse_pointwise = true; }
  SUBCASE("all") { passes = {}; }
  CHECK(check_random_programs(passes, 1000) > 100);
}

Array spread(const Shape& shape, float step) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) * step - 8 * step;
  return array<float>(values, shape);
}

/// Forward and backward give the same bits with the passes as without them.
void check_recorded(const Callable& call, const std::vector<Variable>& inputs, bool has_repetitions) {
  TracedCall traced(call, inputs);
  random::seed(3);
  const TracedCall::Results plain = traced.replay(inputs);
  const PassLog log = run_passes(traced.recording.program, {});
  CHECK(log.recorded_kernels > 0);
  const bool repeats =
      std::ranges::any_of(log.entries, [](const auto& entry) { return entry.pass == "common_inputs"; });
  CHECK((repeats || !has_repetitions));
  random::seed(3);
  const TracedCall::Results planned = traced.replay(inputs);
  CHECK(equal_bits(plain.outputs, planned.outputs));
  CHECK(equal_bits(plain.gradients, planned.gradients));
}

TEST_CASE("recorded networks compute the same bits after all passes") {
  const Variable labels(array<int32_t>({0, 2, 1, 1}), false);
  SUBCASE("a perceptron with dropout") {
    L::Linear l1(12, 30), l2(30, 3);
    check_recorded(
        [&](const std::vector<Variable>& x) {
          return Variables{F::softmax_cross_entropy(l2(F::dropout(F::relu(l1(x[0])))), x[1])};
        },
        {Variable(spread({4, 12}, 0.1F)), labels}, false);
  }
  SUBCASE("a convolutional network") {
    L::ResNet18 model({.n_classes = 3, .stem = L::ResNetStem::cifar});
    check_recorded(
        [&](const std::vector<Variable>& x) { return Variables{F::softmax_cross_entropy(model(x[0]), x[1])}; },
        {Variable(spread({4, 3, 16, 16}, 0.1F)), labels}, false);
  }
  SUBCASE("a recurrent network") {
    L::Linear in(12, 20), across(5, 20, {.nobias = true}), out(5, 3);
    check_recorded(
        [&](const std::vector<Variable>& x) {
          Variable c(zeros({4, 5}), false), h = c;
          for (int step = 0; step < 4; ++step) {
            const Variables gates = F::split_axis(in(x[0]) + across(h), 4, 1);
            c = F::sigmoid(gates[1]) * c + F::sigmoid(gates[0]) * F::tanh(gates[2]);
            h = F::sigmoid(gates[3]) * F::tanh(c);
          }
          return Variables{F::softmax_cross_entropy(out(h), x[1])};
        },
        {Variable(spread({4, 12}, 0.1F)), labels}, true);
  }
}

TEST_CASE("run_passes takes programs without kernels") {
  ProgramBuilder b;
  b.array(Slot::Kind::intermediate, {16}, Dtype::float32, Export::arena);
  CHECK(run_passes(b.program, {}).entries.empty());
  CHECK(ProgramRunner(b.program, ProgramRunner::Memory::packed).packing().bytes == 64);
}

TEST_CASE("run_passes notes what was recorded") {
  ProgramBuilder b;
  const View x = b.input({16}), y = b.result({16});
  b.code([] {});
  b.pointwise_to(y, kernels::Neg{}, b.pointwise(kernels::Neg{}, b.pointwise(kernels::Neg{}, x)));
  b.pointwise(kernels::AddConst{1}, x);
  const PassLog log = run_passes(b.program, StaticGraphPasses::none());
  CHECK(log.entries.empty());
  CHECK(log.recorded_kernels == 4);
  CHECK(log.recorded_bytes == 3 * 64);
  CHECK(log.recorded_live_bytes == 2 * 64);
  CHECK(b.program.steps.size() == 5);

  StaticGraphPasses dead_only = StaticGraphPasses::none();
  dead_only.dead_kernels = true;
  CHECK(run_passes(b.program, dead_only).entries.size() == 1);
  CHECK(b.program.steps.size() == 4);
}

TEST_CASE("run_passes fuses pointwise kernels, and then drops what nobody reads") {
  ProgramBuilder b;
  const View x = b.input({128, 128}), y = b.result({128, 128});
  b.pointwise_to(y, kernels::Neg{}, b.pointwise(kernels::AddConst{1}, b.pointwise(kernels::Neg{}, x)));
  const PassLog log = run_passes(b.program, {});
  REQUIRE(b.program.steps.size() == 1);
  CHECK(b.program.steps[0].fused == "neg, add_const, neg");
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].pass == "fuse_pointwise");
}

}  // namespace
}  // namespace kusari::graphs
