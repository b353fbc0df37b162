#include "kusari/framework/static_graph/passes/fuse_pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/fused_pointwise.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/passes/pointwise_step.h"

using namespace kusari;
using namespace kusari::graphs;

namespace {

using Kind = LaunchArgument::Kind;

Operand in(const View& view) { return operand_of(Kind::in, view); }
Operand out(const View& view) { return operand_of(Kind::out, view); }

View slice(View view, int axis, int64_t begin, int64_t size, int64_t step = 1) {
  view.offset += begin * view.strides[axis] * itemsize(view.dtype);
  view.shape[axis] = size;
  view.strides[axis] *= step;
  return view;
}

/// A program under construction.
struct Recipe {
  Program program;

  View array(Slot::Kind kind, const Shape& shape, Dtype dtype = Dtype::float32, Strides strides = {}) {
    if (strides.ndim() != shape.ndim()) strides = contiguous_strides(shape);
    Slot slot;
    slot.kind = kind;
    slot.bytes = static_cast<size_t>(numel(shape) * itemsize(dtype));
    return view_of(program.add_slot(slot), shape, strides, dtype);
  }
  View input(const Shape& shape, Dtype dtype = Dtype::float32) { return array(Slot::Kind::input, shape, dtype); }
  View temporary(const Shape& shape, Dtype dtype = Dtype::float32) {
    return array(Slot::Kind::intermediate, shape, dtype);
  }
  void exported(const View& view) { program.slots[static_cast<size_t>(view.slot)].exported = Export::own; }

  template <class Op>
  void step(const Op& op, const std::vector<View>& reads, const View& write, Phase phase = Phase::forward) {
    std::vector<Operand> operands = {params_of(op)};
    for (const View& view : reads) operands.push_back(in(view));
    operands.push_back(out(write));
    program.steps.push_back(make_step<kernels::Pointwise<Op>>(Device(), phase, operands));
  }
  void copy(const View& from, const View& to) {
    program.steps.push_back(make_step<kernels::Copy>(Device(), Phase::forward, {in(from), out(to)}));
  }
  void fill(Scalar value, const View& to) {
    program.steps.push_back(make_step<kernels::Fill>(Device(), Phase::forward, {params_of(value), out(to)}));
  }
  int fuse(FusedGroups which = FusedGroups::all) {
    PassLog log;
    return fuse_pointwise(program, log, which);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Step& s : program.steps) names.push_back(s.is_code() ? "code" : s.name);
    return names;
  }
};

using Names = std::vector<std::string>;

/// Memory for every slot, and what a step does to it.
class Memory {
 public:
  explicit Memory(const Program& program) {
    for (const Slot& slot : program.slots) blocks_.emplace_back(slot.bytes);
  }

  Array array_of(const View& view) {
    std::vector<char>& block = blocks_[static_cast<size_t>(view.slot)];
    return from_external(
        block.data() + view.offset, view.shape, view.strides, view.dtype, Device(), [](void*) {}, nullptr);
  }
  void run(const Program& program) {
    for (const Step& step : program.steps) {
      if (step.is_code()) {
        step.code();
        continue;
      }
      std::vector<std::vector<Array>> lists(step.operands.size());
      std::vector<std::span<const Array>> spans(step.operands.size());
      std::vector<LaunchArgument> arguments;
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const Operand& operand = step.operands[k];
        for (const View& view : operand.views) lists[k].push_back(array_of(view));
        spans[k] = lists[k];
        const bool is_list = operand.kind == Kind::in_list || operand.kind == Kind::out_list;
        const void* const value = operand.kind == Kind::params ? static_cast<const void*>(operand.bytes.data())
                                  : is_list                    ? static_cast<const void*>(&spans[k])
                                                               : &lists[k][0];
        arguments.push_back({operand.kind, value, operand.bytes.size()});
      }
      step.run(step.kernel, arguments.data());
    }
  }
  const std::vector<char>& block(size_t slot) const { return blocks_[slot]; }
  std::vector<char>& block(size_t slot) { return blocks_[slot]; }

 private:
  std::vector<std::vector<char>> blocks_;
};

/// Numbers that every dtype holds.
void fill_randomly(Memory& memory, const Program& program, const std::vector<View>& wholes, std::mt19937& random) {
  for (const View& view : wholes) {
    std::vector<double> values(static_cast<size_t>(numel(view.shape)));
    for (double& value : values) value = static_cast<double>(static_cast<int>(random() % 17) - 8) / 4;
    if (program.slots[static_cast<size_t>(view.slot)].bytes > 0)
      memory.array_of(view).copy_from(kusari::array(values, view.shape).astype(view.dtype));
  }
}

/// Whether the bytes are the same but for NaNs, of which any is as good as another: which of two NaNs a sum passes on
/// depends on the order of its operands, and that is the compiler's choice.
bool same_numbers(const Array& a, const Array& b) {
  const Array x = a.astype(Dtype::float64), y = b.astype(Dtype::float64);
  const auto bytes = static_cast<size_t>(itemsize(a.dtype()));
  for (int64_t i = 0; i < a.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * bytes;
    if (std::isnan(x.data<double>()[i]) && std::isnan(y.data<double>()[i])) continue;
    const char *const left = static_cast<const char*>(a.raw_data()), *const right =
                                                                         static_cast<const char*>(b.raw_data());
    if (std::memcmp(left + at, right + at, bytes) != 0) return false;
  }
  return true;
}

/// Whether the fused program leaves the same bits as the original in every slot that somebody can see.
void check_same_results(const Program& original, const Program& fused, const std::vector<View>& wholes, unsigned seed) {
  Memory before(original), after(original);
  std::mt19937 random(seed), again(seed);
  fill_randomly(before, original, wholes, random);
  fill_randomly(after, original, wholes, again);
  before.run(original);
  after.run(fused);
  for (size_t s = 0; s < original.slots.size(); ++s) {
    const Slot& slot = original.slots[s];
    if (slot.kind == Slot::Kind::intermediate && slot.exported == Export::none) continue;
    CAPTURE(s);
    if (before.block(s) == after.block(s)) continue;
    const auto whole =
        std::find_if(wholes.begin(), wholes.end(), [&](const View& view) { return view.slot == static_cast<int>(s); });
    REQUIRE(whole != wholes.end());
    CHECK(same_numbers(before.array_of(*whole), after.array_of(*whole)));
  }
}

}  // namespace

TEST_CASE("fuse_pointwise: a chain becomes one step whose intermediates are gone") {
  Recipe r;
  const View x = r.input({4, 5}), a = r.temporary({4, 5}), b = r.temporary({4, 5}), y = r.temporary({4, 5});
  r.step(kernels::MulConst{2}, {x}, a);
  r.step(kernels::Exp{}, {a}, b);
  r.step(kernels::Add{}, {b, a}, y);
  r.exported(y);
  const Program original = r.program;
  PassLog log;
  CHECK(fuse_pointwise(r.program, log, FusedGroups::all) == 1);
  REQUIRE(r.program.steps.size() == 1);
  const Step& step = r.program.steps[0];
  CHECK(std::string(step.name) == "fused_pointwise");
  CHECK(step.fused == "mul_const, exp, add");
  REQUIRE(step.operands[1].views.size() == 1);
  CHECK(step.operands[1].views[0].slot == x.slot);
  REQUIRE(step.operands[2].views.size() == 1);
  CHECK(step.operands[2].views[0].slot == y.slot);
  CHECK(step.operands[2].views[0].shape == Shape{20});  // one range of memory
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries[0].what == "fused 3 kernels into 1");
  check_same_results(original, r.program, {x}, 1);
}

TEST_CASE("fuse_pointwise: a row and a column of the same elements are two inputs") {
  Recipe r;
  const View x = r.input({3}), a = r.temporary({3, 3}), y = r.temporary({3, 3});
  View row = x, column = x;
  row.shape = {1, 3};
  row.strides = {3, 1};
  column.shape = {3, 1};
  column.strides = {1, 1};
  r.step(kernels::Sub{}, {row, column}, a);
  r.step(kernels::MulConst{2}, {a}, y);
  r.exported(y);
  const Program original = r.program;
  CHECK(r.fuse() == 1);
  check_same_results(original, r.program, {x}, 1);
}

TEST_CASE("fuse_pointwise: what others read is written too") {
  Recipe r;
  const View x = r.input({8}), a = r.temporary({8}), y = r.temporary({8}), z = r.temporary({8});
  r.step(kernels::Tanh{}, {x}, a);
  r.step(kernels::Square{}, {a}, y);
  r.step(kernels::Sin{}, {a}, z, Phase::backward);
  r.exported(y);
  r.exported(z);
  const Program original = r.program;
  CHECK(r.fuse() == 1);
  CHECK(r.names() == Names{"fused_pointwise", "sin"});
  CHECK(r.program.steps[0].operands[2].views.size() == 2);
  check_same_results(original, r.program, {x}, 2);
}

TEST_CASE("fuse_pointwise: steps that depend on others between stay in order") {
  Recipe r;
  const View x = r.input({8}), a = r.temporary({8}), turned = r.temporary({2, 4}), b = r.temporary({8});
  View even = a;
  even.shape = {4, 2};
  even.strides = {2, 1};
  View odd = turned;
  odd.shape = {4, 2};
  odd.strides = {1, 4};
  View flat = turned;
  flat.shape = {8};
  flat.strides = {1};
  r.step(kernels::Exp{}, {x}, a);
  r.copy(even, odd);  // a transposition
  r.step(kernels::Add{}, {flat, a}, b);
  r.exported(b);
  CHECK(r.fuse() == 0);
  CHECK(r.names() == Names{"exp", "copy", "add"});
}

TEST_CASE("fuse_pointwise: steps move past others that have nothing to do with them") {
  Recipe r;
  const View x = r.input({8}), w = r.input({3}), a = r.temporary({8}), b = r.temporary({8}), v = r.temporary({3});
  r.step(kernels::Exp{}, {x}, a);
  r.step(kernels::Log{}, {w}, v);
  r.step(kernels::Neg{}, {a}, b);
  r.exported(b);
  r.exported(v);
  const Program original = r.program;
  CHECK(r.fuse() == 1);
  CHECK(r.names() == Names{"fused_pointwise", "log"});
  check_same_results(original, r.program, {x, w}, 3);
}

TEST_CASE("fuse_pointwise: the host's code is a fence") {
  Recipe r;
  const View x = r.input({8}), a = r.temporary({8}), b = r.temporary({8});
  r.step(kernels::Exp{}, {x}, a);
  Step code;
  code.code = [] {};
  r.program.steps.push_back(code);
  r.step(kernels::Neg{}, {a}, b);
  r.exported(b);
  CHECK(r.fuse() == 0);
}

TEST_CASE("fuse_pointwise: gates that share a block, and sums in place") {
  Recipe r;
  const View x = r.input({3, 20}), gates = r.temporary({3, 20}), c = r.array(Slot::Kind::external, {3, 5});
  for (int g = 0; g < 4; ++g) {
    const View part = slice(x, 1, g * 5, 5);
    if (g == 0) {
      r.step(kernels::Tanh{}, {part}, slice(gates, 1, 0, 5));
    } else {
      r.step(kernels::Sigmoid{}, {part}, slice(gates, 1, g * 5, 5));
    }
  }
  const View h = r.temporary({3, 5});
  r.step(kernels::Mul{}, {slice(gates, 1, 10, 5), c}, c);
  r.step(kernels::MulAdd{}, {slice(gates, 1, 0, 5), slice(gates, 1, 5, 5), c}, c);
  r.step(kernels::Tanh{}, {c}, h);
  r.step(kernels::Mul{}, {h, slice(gates, 1, 15, 5)}, h);
  r.exported(h);
  const Program original = r.program;
  CHECK(r.fuse() == 1);
  CHECK(r.names() == Names{"fused_pointwise"});
  CHECK(r.program.steps[0].operands[1].views.size() == 5);
  CHECK(r.program.steps[0].operands[2].views.size() == 2);
  check_same_results(original, r.program, {x, c}, 4);
}

TEST_CASE("fuse_pointwise: a copy that is to see old contents keeps them") {
  Recipe r;
  const View x = r.array(Slot::Kind::external, {8}), old = r.temporary({8}), y = r.temporary({8});
  r.copy(x, old);
  r.step(kernels::AddConst{1}, {x}, x);
  r.step(kernels::Sub{}, {x, old}, y);
  r.exported(y);
  const Program original = r.program;
  r.fuse();
  check_same_results(original, r.program, {x}, 5);
}

TEST_CASE("fuse_pointwise: views without a common byte") {
  Recipe r;
  const View block = r.input({6, 8});
  CHECK(is_disjoint(slice(block, 1, 0, 4), slice(block, 1, 4, 4)));
  CHECK_FALSE(is_disjoint(slice(block, 1, 0, 5), slice(block, 1, 4, 4)));
  CHECK(is_disjoint(slice(block, 1, 0, 4, 2), slice(block, 1, 1, 4, 2)));
  CHECK_FALSE(is_disjoint(slice(block, 1, 0, 4, 2), slice(block, 1, 2, 3, 2)));
  CHECK(is_disjoint(slice(block, 0, 0, 3), slice(block, 0, 3, 3)));
  CHECK_FALSE(is_disjoint(slice(block, 0, 0, 4), slice(block, 0, 3, 3)));
  CHECK(is_disjoint(slice(block, 0, 0, 3, 2), slice(block, 0, 1, 3, 2)));
  CHECK_FALSE(is_disjoint(block, slice(block, 1, 7, 1)));
  CHECK(is_disjoint(block, r.input({6, 8})));
}

namespace {

/// Random programs: arrays of few shapes, so that they meet; views of parts; writes in place; all functors.
class RandomFormulas {
 public:
  explicit RandomFormulas(unsigned seed) : random_{seed} {
    rows_ = 1 + pick(4);
    columns_ = 1 + pick(pick(4) == 0 ? 400 : 8);
    const int arrays = 4 + pick(8);
    for (int i = 0; i < arrays; ++i) add_array();
    const int steps = 2 + pick(40);
    for (int i = 0; i < steps; ++i) add_step();
  }

  Recipe recipe;
  std::vector<View> wholes;

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void add_array() {
    const Slot::Kind kinds[] = {Slot::Kind::input, Slot::Kind::external, Slot::Kind::intermediate,
                                Slot::Kind::intermediate, Slot::Kind::intermediate};
    const Dtype dtypes[] = {Dtype::float32, Dtype::float32, Dtype::float32, Dtype::float32, Dtype::float64,
                            Dtype::float16, Dtype::int32,   Dtype::bool_,   Dtype::int64,   Dtype::bfloat16};
    const Shape shapes[] = {
        {rows_, columns_}, {rows_, columns_}, {rows_, columns_}, {rows_, 2 * columns_}, {columns_}, {rows_, 1}, {},
        {rows_ * columns_}};
    const Shape& shape = shapes[pick(8)];
    Strides strides;
    if (shape.ndim() == 2 && pick(6) == 0) strides = {1, shape[0]};  // columns first
    wholes.push_back(recipe.array(kinds[pick(5)], shape, dtypes[pick(pick(2) == 0 ? 4 : 10)], strides));
    if (pick(4) == 0) recipe.exported(wholes.back());
  }

  /// A view of rows x columns elements to be written, or one that is broadcast to that.
  View operand(const Shape& shape, bool written) {
    while (true) {
      View view = wholes[static_cast<size_t>(pick(static_cast<int>(wholes.size())))];
      if (view.shape == Shape{rows_, 2 * columns_} && shape == Shape{rows_, columns_}) {
        if (pick(2) == 0) return slice(view, 1, pick(2), columns_, 2);
        return slice(view, 1, pick(3) * columns_ / 2, columns_);
      }
      if (view.shape == shape) return view;
      if (written || view.shape.ndim() > shape.ndim()) continue;
      bool fits = true;
      for (int k = 0; k < view.shape.ndim(); ++k) {
        const int64_t size = view.shape[view.shape.ndim() - 1 - k];
        fits = fits && (size == 1 || size == shape[shape.ndim() - 1 - k]);
      }
      if (fits) return view;
    }
  }

  template <class Op>
  void add(const Op& op, const Shape& shape) {
    constexpr int kArguments = kusari::detail::pointwise_arity<Op>();
    std::vector<View> reads;
    bool floating = false;
    for (int k = 0; k < kArguments; ++k) {
      reads.push_back(operand(shape, false));
      floating = floating || is_floating(reads.back().dtype);
    }
    const View write = operand(shape, true);
    for (const View& read : reads) {  // what a kernel writes, it reads at the same place or not at all
      if (!is_same_view(read, write) && !is_disjoint(read, write)) return;
    }
    if (!floating && !is_floating(write.dtype) && !(requires { Op::kIntegers; })) return;
    if (is_floating(write.dtype) || is_bounded<Op>()) recipe.step(op, reads, write);
  }
  /// Whether results fit integers: conversions of others are undefined.
  template <class Op>
  static constexpr bool is_bounded() {
    return requires { Op::kBoolean; }
    || std::is_same_v<Op, kernels::Sign>;
  }

  void add_step() {
    const Shape shape = pick(5) == 0 ? Shape{rows_ * columns_} : Shape{rows_, columns_};
    const bool has_shape =
        std::any_of(wholes.begin(), wholes.end(), [&](const View& view) { return view.shape == shape; });
    if (!has_shape) return;
    switch (pick(12)) {
      case 0: {
        const View from = operand(shape, false), to = operand(shape, true);
        if (from.shape != shape || (is_floating(from.dtype) && !is_floating(to.dtype))) return;
        if (is_disjoint(from, to)) recipe.copy(from, to);
        return;
      }
      case 1:
        recipe.fill(pick(7) - 3, operand(shape, true));
        return;
      default:
        break;
    }
    int chosen = pick(kFunctors);
    const double a = (pick(9) - 4) / 4.0, b = a + pick(5) / 4.0;
#define KUSARI_TRY(Op)                            \
  if (chosen-- == 0) {                            \
    kernels::Op op{};                             \
    const double numbers[] = {a, b, a, b};        \
    if constexpr (sizeof(op) >= sizeof(double)) { \
      std::memcpy(&op, numbers, sizeof(op));      \
    }                                             \
    add(op, shape);                               \
  }
    KUSARI_ARITHMETIC_OPS(KUSARI_TRY)
    KUSARI_MATH_FUNCTION_OPS(KUSARI_TRY)
    KUSARI_COMPARISON_OPS(KUSARI_TRY)
    KUSARI_ACTIVATION_OPS(KUSARI_TRY)
#undef KUSARI_TRY
  }

#define KUSARI_COUNT(Op) +1
  static constexpr int kFunctors = KUSARI_ARITHMETIC_OPS(KUSARI_COUNT) KUSARI_MATH_FUNCTION_OPS(KUSARI_COUNT)
      KUSARI_COMPARISON_OPS(KUSARI_COUNT) KUSARI_ACTIVATION_OPS(KUSARI_COUNT);
#undef KUSARI_COUNT

  std::mt19937 random_;
  int64_t rows_, columns_;
};

}  // namespace

TEST_CASE("fuse_pointwise: random programs leave the same bits") {
  int fused = 0;
  size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    RandomFormulas made(seed);
    const Program original = made.recipe.program;
    fused += made.recipe.fuse();
    before += original.steps.size();
    after += made.recipe.program.steps.size();
    check_same_results(original, made.recipe.program, made.wholes, seed);
  }
  CHECK(fused > 1000);
  CHECK(after < before / 2);
}

TEST_CASE("fuse_pointwise: random programs of which only some groups are fused leave the same bits") {
  int fused = 0;
  size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomFormulas made(seed);
    const Program original = made.recipe.program;
    fused += made.recipe.fuse(FusedGroups::faster);
    before += original.steps.size();
    after += made.recipe.program.steps.size();
    check_same_results(original, made.recipe.program, made.wholes, seed);
  }
  CHECK(fused > 100);
  CHECK(after < before);
}

TEST_CASE("fuse_pointwise: on the CPU small dense arrays are not worth it") {
  const auto fused = [](int64_t columns, int64_t pitch, int steps) {
    Recipe r;
    const View whole = r.input({32, pitch});
    View x = slice(whole, 1, 0, columns);
    for (int i = 0; i < steps; ++i) {
      const View y = r.temporary({32, columns});
      r.step(kernels::AddConst{1}, {x}, y);
      x = y;
    }
    r.exported(x);
    const Program original = r.program;
    const int result = r.fuse(FusedGroups::faster);
    check_same_results(original, r.program, {whole}, 7);
    CHECK(r.program.steps.size() == (result == 1 ? 1 : static_cast<size_t>(steps)));
    return result;
  };
  CHECK(fused(2, 2, 2) == 0);
  CHECK(fused(32, 32, 8) == 0);
  CHECK(fused(256, 256, 2) == 1);
  CHECK(fused(128, 128, 4) == 1);
  CHECK(fused(2, 3, 2) == 0);
  CHECK(fused(2, 3, 3) == 1);  // rows, for which each kernel plans its loops
}

TEST_CASE("fuse_pointwise: an LSTM-like chain of a thousand tiny steps") {
  Recipe r;
  std::vector<View> wholes;
  const Shape shape = {2, 32};
  View c = r.input(shape), h = c;
  wholes.push_back(c);
  for (int t = 0; t < 125; ++t) {
    const View gates = r.input({2, 128});
    wholes.push_back(gates);
    View g[4];
    for (int k = 0; k < 4; ++k) {
      g[k] = r.temporary(shape);
      k == 0 ? r.step(kernels::Tanh{}, {slice(gates, 1, 0, 32)}, g[k])
             : r.step(kernels::Sigmoid{}, {slice(gates, 1, 32 * k, 32)}, g[k]);
    }
    const View ai = r.temporary(shape), next = r.temporary(shape), tanh = r.temporary(shape);
    h = r.temporary(shape);
    r.step(kernels::Mul{}, {g[0], g[1]}, ai);
    r.step(kernels::MulAdd{}, {g[2], c, ai}, next);
    r.step(kernels::Tanh{}, {next}, tanh);
    r.step(kernels::Mul{}, {g[3], tanh}, h);
    c = next;
    r.exported(h);
  }
  const Program original = r.program;
  CHECK(original.steps.size() == 1000);
  CHECK(r.fuse() >= 1000 / kernels::FusedProgram::kMaxOps);

  CHECK(r.program.steps.size() <= 80);
  check_same_results(original, r.program, wholes, 6);
}
