#include "kusari/framework/kernels/fused_pointwise.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

using namespace kusari;

namespace {

using Builder = FusedProgramBuilder;
using Value = Builder::Value;

constexpr Dtype kFusedDtypes[] = {Dtype::bool_,   Dtype::uint8,    Dtype::int8,    Dtype::int32,  Dtype::int64,
                                  Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

Array fused_numbers(const Shape& shape, Dtype dtype = Dtype::float32, uint64_t seed = 1) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 8.0 * (philox_word(seed, i) * 0x1p-32) - 4.0;
  return array(values, shape).astype(dtype);
}

void check_same_bits(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == b.dtype());
  const Array x = a.contiguous(), y = b.contiguous();
  CHECK(std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0);
}

/// A program and its arrays, written step by step.
struct Fused {
  Builder builder;
  std::vector<Array> inputs, outputs;

  Value input(const Array& x, Dtype held) {
    inputs.push_back(x);
    return builder.input(x.dtype(), held).value();
  }
  template <class Op>
  Value step(const Op& op, std::vector<Value*> operands, Dtype dtype) {
    std::vector<Dtype> dtypes;
    for (const Value* value : operands) dtypes.push_back(value->dtype);
    const PointwiseFunctor& functor = *find_pointwise_functor(kernel_id<kernels::Pointwise<Op>>());
    return builder
        .pointwise(functor, reinterpret_cast<const std::byte*>(&op), operands, Builder::compute_dtype(dtypes, dtype),
                   dtype)
        .value();
  }
  void run(std::vector<Value> values, std::vector<Array> arrays) {
    outputs = std::move(arrays);
    const kernels::FusedProgram program = builder.finish(values);
    launch<kernels::FusedPointwise>(Device(), program, InList(inputs), OutList(outputs));
  }
};

/// An LSTM's state: c' = f c + i a, h = o tanh(c'), with gates before their activations.
void check_lstm(const Array (&gates)[4], const Array& c, const Array& bias, const Array& next_c, const Array& next_h) {
  const Dtype dtype = c.dtype();
  const auto like = [&] { return empty(next_c.shape(), dtype); };
  const Array a = like(), i = like(), f = like(), o = like();
  pointwise_to(a, kernels::Add{}, gates[0], bias);
  pointwise_to(a, kernels::Tanh{}, a);
  pointwise_to(i, kernels::Sigmoid{}, gates[1]);
  pointwise_to(f, kernels::Sigmoid{}, gates[2]);
  pointwise_to(o, kernels::Sigmoid{}, gates[3]);
  const Array expected_c = like(), expected_h = like();
  pointwise_to(i, kernels::Mul{}, i, a);
  pointwise_to(expected_c, kernels::MulAdd{}, f, c, i);
  pointwise_to(expected_h, kernels::Tanh{}, expected_c);
  pointwise_to(expected_h, kernels::Mul{}, o, expected_h);

  Fused fused;
  const Dtype held = Builder::natural(dtype);
  Value g[4] = {fused.input(gates[0], held), fused.input(gates[1], held), fused.input(gates[2], held),
                fused.input(gates[3], held)};
  Value old = fused.input(c, held), b = fused.input(bias, held);
  Value sum = fused.step(kernels::Add{}, {&g[0], &b}, dtype);
  Value va = fused.step(kernels::Tanh{}, {&sum}, dtype), vi = fused.step(kernels::Sigmoid{}, {&g[1]}, dtype);
  Value vf = fused.step(kernels::Sigmoid{}, {&g[2]}, dtype), vo = fused.step(kernels::Sigmoid{}, {&g[3]}, dtype);
  Value ia = fused.step(kernels::Mul{}, {&vi, &va}, dtype);
  Value vc = fused.step(kernels::MulAdd{}, {&vf, &old, &ia}, dtype);
  Value th = fused.step(kernels::Tanh{}, {&vc}, dtype);
  Value vh = fused.step(kernels::Mul{}, {&vo, &th}, dtype);
  fused.run({vc, vh}, {next_c, next_h});
  check_same_bits(next_c, expected_c);
  check_same_bits(next_h, expected_h);
}

}  // namespace

TEST_CASE("fused_pointwise: an LSTM's cell gives the bits of its kernels") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    for (const Shape& shape : {Shape{0, 4}, Shape{1, 1}, Shape{2, 16}, Shape{3, 5}, Shape{7, 200}, Shape{3, 300},
                               Shape{5, 1200}, Shape{700, 100}}) {
      CAPTURE(dtype);
      CAPTURE(shape);
      const Shape wide = {shape[0], 4 * shape[1]};
      const Array x = fused_numbers(wide, dtype), c = fused_numbers(shape, dtype, 2);
      const int64_t n = shape[1];
      const auto fresh = [&] { return empty(shape, dtype); };
      const Array scalar = fused_numbers({}, dtype, 3), row = fused_numbers({n}, dtype, 4),
                  column = fused_numbers({shape[0], 1}, dtype, 5);
      const Array dense[] = {x.slice(1, 0, n).contiguous(), x.slice(1, n, n).contiguous(),
                             x.slice(1, 2 * n, n).contiguous(), x.slice(1, 3 * n, n).contiguous()};
      const Array blocks[] = {x.slice(1, 0, n), x.slice(1, n, n), x.slice(1, 2 * n, n), x.slice(1, 3 * n, n)};
      const Array mixed[] = {x.slice(1, 0, n, 4), x.slice(1, 1, n, 4), x.slice(1, 2, n, 4), x.slice(1, 3, n, 4)};
      for (const Array& bias : {scalar, row, column, c}) {
        check_lstm(dense, c, bias, fresh(), fresh());
        if (shape[0] == 0) continue;
        check_lstm(blocks, c, bias, fresh(), fresh());
        check_lstm(mixed, c, bias, fresh(), fresh());
        check_lstm(dense, c, bias, zeros(wide, dtype).slice(1, n, n), fresh());
        check_lstm(mixed, c, bias, zeros(wide, dtype).slice(1, 2, n, 4), zeros(wide, dtype).slice(1, n, n));
      }
    }
  }
}

TEST_CASE("fused_pointwise: channels-last images with a bias for each channel") {
  const Shape shape = {3, 5, 9, 7};
  const Array x = fused_numbers(shape), y = empty_channels_last(shape, Dtype::float32), z = empty(shape);
  const Array bias = fused_numbers({1, 5, 1, 1}, Dtype::float32, 2);
  y.copy_from(x);
  for (const Array& image : {x, y}) {
    for (const Array& result : {empty_like(y), empty_like(x)}) {
      Fused fused;
      Value v = fused.input(image, Dtype::float32), b = fused.input(bias, Dtype::float32);
      Value sum = fused.step(kernels::Add{}, {&v, &b}, Dtype::float32);
      Value relu = fused.step(kernels::Relu{}, {&sum}, Dtype::float32);
      fused.run({relu}, {result});
      check_same_bits(result, pointwise(kernels::Relu{}, pointwise(kernels::Add{}, x, bias)));
    }
  }
}

TEST_CASE("fused_pointwise: copies convert between all dtypes, and fills round") {
  for (const Dtype from : kFusedDtypes) {
    for (const Dtype to : kFusedDtypes) {
      for (const Dtype then : kFusedDtypes) {
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(then);
        const Array x = fused_numbers({37}, from);
        const Array y = x.astype(to, true), z = y.astype(then, true), s = empty({37}, to), f = full({37}, 2.7, to);
        pointwise_to(s, kernels::Add{}, y, f);
        Fused fused;
        Value vx = fused.input(x, Builder::natural(from));
        Value vy = fused.builder.copy(vx, to).value();
        Value vz = fused.builder.copy(vy, then).value();
        const Scalar scalar(2.7);
        Value vf = fused.builder.fill(reinterpret_cast<const std::byte*>(&scalar), to).value();
        Value vs = fused.step(kernels::Add{}, {&vy, &vf}, to);
        const std::vector<Array> results = {empty({37}, to), empty({37}, then), empty({37}, to), empty({37}, to)};
        fused.run({vy, vz, vf, vs}, results);
        check_same_bits(results[0], y);
        check_same_bits(results[1], z);
        check_same_bits(results[2], f);
        check_same_bits(results[3], s);
      }
    }
  }
}

TEST_CASE("fused_pointwise: comparisons choose, in the widest operand's type") {
  for (const Dtype a : kFusedDtypes) {
    for (const Dtype b : kFusedDtypes) {
      CAPTURE(a);
      CAPTURE(b);
      const Array x = fused_numbers({300}, a), y = fused_numbers({300}, b, 2);
      const Array less = pointwise(kernels::Less{}, x, y), larger = pointwise(kernels::Where{}, less, y, x);
      Fused fused;
      const Dtype dtypes[] = {a, b};
      const Dtype compute = Builder::compute_dtype(dtypes, Dtype::bool_), result = promote(a, promote(b, Dtype::bool_));
      const Dtype chosen = Builder::compute_dtype(dtypes, result);
      Value vx = fused.input(x, compute), vy = fused.input(y, compute);
      Value vless = fused.step(kernels::Less{}, {&vx, &vy}, Dtype::bool_);
      Value wx = fused.input(x, chosen), wy = fused.input(y, chosen);
      Value vlarger = fused.step(kernels::Where{}, {&vless, &wy, &wx}, result);
      const std::vector<Array> results = {empty({300}, Dtype::bool_), empty({300}, result)};
      fused.run({vless, vlarger}, results);
      check_same_bits(results[0], less);
      check_same_bits(results[1], larger);
    }
  }
}

TEST_CASE("fused_pointwise: in place, over several threads' shares") {
  for (const int64_t n : {5, 1000, 200000}) {
    const Array x = fused_numbers({n}), expected = x.copy();
    for (int i = 0; i < 5; ++i) pointwise_to(expected, kernels::Affine{0.9, 0.1}, expected);
    Fused fused;
    Value v = fused.input(x, Dtype::float32);
    for (int i = 0; i < 5; ++i) v = fused.step(kernels::Affine{0.9, 0.1}, {&v}, Dtype::float32);
    fused.run({v}, {x});
    check_same_bits(x, expected);
  }
}

TEST_CASE("fused_pointwise: errors") {
  Fused fused;
  const Array x = ones({3});
  Value v = fused.input(x, Dtype::float32);
  Value y = fused.step(kernels::Exp{}, {&v}, Dtype::float32);
  CHECK_THROWS_WITH_AS(fused.run({y}, {empty({2})}), doctest::Contains("fused_pointwise: "), TypeError);
  fused.inputs.clear();
  CHECK_THROWS_WITH_AS(fused.run({y}, {empty({3})}),
                       "fused_pointwise: the program has 1 inputs and 1 outputs but got 0 and 1 arrays", ValueError);
}

TEST_CASE("fused_pointwise: a full program says so") {
  Builder builder;
  const Scalar one(1.0);
  for (int i = 0; i < kernels::FusedProgram::kMaxOps; ++i) {
    CHECK(builder.fill(reinterpret_cast<const std::byte*>(&one), Dtype::float32).has_value());
  }
  CHECK_FALSE(builder.fill(reinterpret_cast<const std::byte*>(&one), Dtype::float32).has_value());
  for (int i = 0; i < kernels::FusedProgram::kMaxInputs; ++i) {
    CHECK(builder.input(Dtype::float32, Dtype::float32).has_value());
  }
  CHECK_FALSE(builder.input(Dtype::float32, Dtype::float32).has_value());
}
