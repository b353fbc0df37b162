#include "kusari/framework/kernels/pointwise.h"

#include <array>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/tests/gpu/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// The library functions of the CPU and of CUDA are within 3 ulp of the truth each; 4e-6 is 34 ulp.
constexpr double kPointwiseFactor = 1;

template <class Op>
Op functor() {
  if constexpr (sizeof(Op) == sizeof(double)) {
    return Op{1.5};
  } else if constexpr (sizeof(Op) == 2 * sizeof(double)) {
    return Op{-0.5, 1.25};
  } else {
    return Op{};
  }
}

/// Operand k: between -3 and 3; for integers whole numbers from -3 (uint8: 253) to 3.
Array operand(const Shape& shape, Dtype dtype, uint64_t k) {
  const Array x = uniform_array(shape, -3, 3, Dtype::float64, k + 1);
  return is_floating(dtype) ? x.astype(dtype) : x.astype(Dtype::int64).astype(dtype);
}

/// op(x0, x1, ...) of the first operands that it takes.
template <class Op>
Array result_of(const Op& op, const std::array<Array, 3>& x) {
  constexpr int kInputs = kusari::detail::pointwise_arity<Op>();
  if constexpr (kInputs == 1) {
    return pointwise(op, x[0]);
  } else if constexpr (kInputs == 2) {
    return pointwise(op, x[0], x[1]);
  } else {
    return pointwise(op, x[0], x[1], x[2]);
  }
}

template <class Op>
void write_result(const Array& y, const Op& op, const std::array<Array, 3>& x) {
  constexpr int kInputs = kusari::detail::pointwise_arity<Op>();
  if constexpr (kInputs == 1) {
    pointwise_to(y, op, x[0]);
  } else if constexpr (kInputs == 2) {
    pointwise_to(y, op, x[0], x[1]);
  } else {
    pointwise_to(y, op, x[0], x[1], x[2]);
  }
}

template <class Op>
void check_op(const Device& device, const std::array<Array, 3>& x) {
  const auto run = [](const Array& a, const Array& b, const Array& c) {
    return result_of(functor<Op>(), std::array<Array, 3>{a, b, c});
  };
  check_on_gpu(device, run, kPointwiseFactor, x[0], x[1], x[2]);
}

std::array<Array, 3> operands(const Shape& shape, Dtype dtype) {
  return {operand(shape, dtype, 0), operand(shape, dtype, 1), operand(shape, dtype, 2)};
}

template <class Op>
void check_dtypes(const Device& device) {
  CAPTURE(Op::kName);
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    std::array<Array, 3> x = operands({533}, dtype);
    if (!is_floating(dtype)) {
      if constexpr (!requires { Op::kIntegers; }) {
        for (Array& a : x) a = a.to_device(device);
        CHECK_THROWS_AS(result_of(functor<Op>(), x), TypeError);
        continue;
      }
    }
    check_op<Op>(device, x);
  }
}

template <class Op>
void check_layouts(const Device& device, Dtype dtype) {
  CAPTURE(Op::kName);
  CAPTURE(name(dtype));
  const std::array<Array, 3> x = operands({2, 8, 3, 5}, dtype);
  for (const Layout layout : kLayouts) {
    CAPTURE(static_cast<int>(layout));
    check_op<Op>(device, {in_layout(x[0], layout), x[1], x[2]});
    check_op<Op>(device, {in_layout(x[0], layout), in_layout(x[1], layout), in_layout(x[2], Layout::channels_last)});
  }
  // Channels, rows, one element; packs along the inner axis and not.
  for (const Shape& shape : {Shape{2, 3, 4, 16}, Shape{2, 3, 4, 5}}) {
    const std::array<Array, 3> y = operands(shape, dtype);
    const int64_t last = shape[3];
    const std::array<Array, 3> inner = operands({last}, dtype), outer = operands({3, 1, 1}, dtype),
                               one = operands({}, dtype);
    for (const auto& small : {inner, outer, one}) {
      check_op<Op>(device, {y[0], small[1], y[2]});
      check_op<Op>(device, {small[0], y[1], small[2]});
    }
  }
}

}  // namespace

TEST_CASE("cuda pointwise: every functor in every dtype") {
  const auto device = gpu_device();
  if (!device) return;
#define KUSARI_CHECK(Op) check_dtypes<kernels::Op>(*device);
  KUSARI_ACTIVATION_OPS(KUSARI_CHECK)
  KUSARI_ARITHMETIC_OPS(KUSARI_CHECK)
  KUSARI_COMPARISON_OPS(KUSARI_CHECK)
  KUSARI_MATH_FUNCTION_OPS(KUSARI_CHECK)
#undef KUSARI_CHECK
}

TEST_CASE("cuda pointwise: every functor over strided operands") {
  const auto device = gpu_device();
  if (!device) return;
#define KUSARI_CHECK(Op) check_layouts<kernels::Op>(*device, Dtype::float16);
  KUSARI_ACTIVATION_OPS(KUSARI_CHECK)
  KUSARI_ARITHMETIC_OPS(KUSARI_CHECK)
  KUSARI_COMPARISON_OPS(KUSARI_CHECK)
  KUSARI_MATH_FUNCTION_OPS(KUSARI_CHECK)
#undef KUSARI_CHECK
  for (const Dtype dtype : kDtypes) {
    check_layouts<kernels::Add>(*device, dtype);
    check_layouts<kernels::MulAdd>(*device, dtype);
    check_layouts<kernels::Less>(*device, dtype);
    check_layouts<kernels::Where>(*device, dtype);
  }
}

TEST_CASE("cuda pointwise: sums and products round as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    const std::array<Array, 3> x = operands({5000}, dtype);
    const auto exact = [&](auto op) {
      check_on_gpu(
          *device,
          [&](const Array& a, const Array& b, const Array& c) {
            return result_of(op, std::array<Array, 3>{a, b, c});
          },
          0, x[0], x[1], x[2]);
    };
    exact(kernels::Add{});
    exact(kernels::MulAdd{});
    exact(kernels::Maximum{});
    exact(kernels::FloorDiv{});
    exact(kernels::Mod{});
    exact(kernels::Square{});
    if (is_floating(dtype)) {
      exact(kernels::Div{});
      exact(kernels::Affine{0.3, 0.7});
      exact(kernels::Sqrt{});
    }
  }
}

TEST_CASE("cuda pointwise: special values") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = array<double>({0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-310, 65504, 3e38, -1e300, 1.0, -1.0});
  const Array all = x.reshape({12, 1}).broadcast_to({12, 12}).contiguous(), other = all.transpose().contiguous();
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const std::array<Array, 3> values = {all.astype(dtype), other.astype(dtype), other.astype(dtype)};
#define KUSARI_CHECK(Op) check_op<kernels::Op>(*device, values);
    KUSARI_COMPARISON_OPS(KUSARI_CHECK)
    KUSARI_CHECK(Relu)
    KUSARI_CHECK(ReluGrad)
    KUSARI_CHECK(Sigmoid)
    KUSARI_CHECK(Tanh)
    KUSARI_CHECK(Maximum)
    KUSARI_CHECK(Minimum)
    KUSARI_CHECK(Exp)
    KUSARI_CHECK(Log)
    KUSARI_CHECK(Sign)
    KUSARI_CHECK(Clip)
#undef KUSARI_CHECK
  }
  const Array angles = array<double>({1e7, 1e22, -3e8, 2e6, 1.5e6});
  check_op<kernels::Sin>(*device, {angles, angles, angles});
  check_op<kernels::Cos>(*device, {angles.astype(Dtype::float32), angles, angles});
  const Array integers = array<int64_t>({INT64_MAX, INT64_MIN, -1, 0, 7, -7});
  const Array divisors = array<int64_t>({1, -1, 0, 3, -3, 2});
  check_op<kernels::FloorDiv>(*device, {integers, divisors, divisors});
  check_op<kernels::Mod>(*device, {integers, divisors, divisors});
  check_op<kernels::Add>(*device, {integers, divisors, divisors});
}

TEST_CASE("cuda pointwise: operands of different dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype a : kDtypes) {
    for (const Dtype b : kDtypes) {
      CAPTURE(name(a));
      CAPTURE(name(b));
      const Array x = operand({6, 37}, a, 0), y = operand({6, 37}, b, 1), z = operand({6, 37}, b, 2);
      check_op<kernels::Mul>(*device, {x, y, z});
      check_op<kernels::Less>(*device, {x, y, z});
      check_op<kernels::Where>(*device, {x, y, z});
      check_on_gpu(
          *device, [&](const Array& v) { return pointwise_as(b, kernels::MulConst{2}, v); }, kPointwiseFactor, x);
    }
  }
}

TEST_CASE("cuda pointwise: sizes around packs, spans and multiprocessors, on and off boundaries") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
    CAPTURE(name(dtype));
    for (const int64_t n : {0, 1, 3, 4, 7, 8, 9, 255, 1024, 2047, 2048, 4095, 4096, 4097, 8193, 70001}) {
      CAPTURE(n);
      check_op<kernels::Relu>(*device, operands({n}, dtype));
      check_op<kernels::Add>(*device, operands({n}, dtype));
      check_op<kernels::GreaterConst>(*device, operands({n}, dtype));
    }
    for (const int64_t start : {1, 2, 4, 8}) {
      CAPTURE(start);
      std::array<Array, 3> x = operands({1000}, dtype);
      for (Array& a : x) a = a.slice(0, start, 900);
      check_op<kernels::Relu>(*device, x);
      check_op<kernels::MulAdd>(*device, x);
    }
  }
  // Enough for several packs in each thread of every multiprocessor of a large card.
  const int64_t large = 256 * 4 * 8 * 140 + 5;
  check_op<kernels::MulConst>(*device, operands({large}, Dtype::float16));
  check_op<kernels::Mul>(*device, operands({large}, Dtype::float16));
}

TEST_CASE("cuda pointwise: the result may be an operand") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const Layout layout : kWritableLayouts) {
      CAPTURE(name(dtype));
      CAPTURE(static_cast<int>(layout));
      const std::array<Array, 3> x = operands({3, 4, 5, 6}, dtype);
      check_on_gpu(
          *device,
          [](const Array& a, const Array& b, const Array& c) {
            const Array y = in_layout(a, Layout::contiguous).copy();
            write_result(y, kernels::MulAdd{}, {y, b, c});
            write_result(y, kernels::Add{}, {b, y, c});
            write_result(y, kernels::Neg{}, {y, b, c});
            const Array part = y.slice(3, 1, 3);
            write_result(part, kernels::Add{}, {part, b.slice(3, 0, 3), c});
            return y;
          },
          kPointwiseFactor, in_layout(x[0], layout), in_layout(x[1], layout), x[2]);
    }
  }
}

TEST_CASE("cuda pointwise: errors are the CPU's") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = operand({2, 3}, Dtype::float32, 0).to_device(*device);
  const Array row = operand({3}, Dtype::float32, 1).to_device(*device);
  CHECK_THROWS_WITH_AS(pointwise_to(row, kernels::Neg{}, x),
                       "neg: x has shape (2, 3) but y has shape (3,): x must broadcast to y", TypeError);
  CHECK_THROWS_WITH_AS(pointwise(kernels::Exp{}, row.astype(Dtype::int32)),
                       "exp: x has dtype int32 but must be floating", TypeError);
}
