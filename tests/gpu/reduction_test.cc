#include "kusari/framework/kernels/reduce.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// What the reduction gives on x's device, for any dtype of y.
template <class R>
Array reduced(const R& reducer, const Array& x, AxisMask axes, Dtype dtype) {
  return reduce_as(dtype, reducer, x, axes);
}

/// Numbers whose sums are exact in every dtype.
Array small_integers(const Shape& shape, Dtype dtype) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i * 7 % 5 % 3) - (is_integral(dtype) ? 0.0 : 1.0);
  return array(v, shape).astype(dtype);
}

template <class R>
void check_reducer(const Device& device) {
  CAPTURE(R::kName);
  constexpr bool kIntegers = requires { R::kIntegers; };
  for (const Dtype dtype : kDtypes) {
    if (!kIntegers && is_integral(dtype)) continue;
    CAPTURE(name(dtype));
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      const Array x = in_layout(uniform_array({2, 5, 3, 3}, -2, 2).astype(dtype), layout);
      for (const uint32_t axes : {0u, 2u, 12u, 13u, 15u}) {
        CAPTURE(axes);
        check_on_gpu(
            device, [&](const Array& a) { return reduced(R{}, a, {axes}, dtype); }, 8, x);
        check_on_gpu(
            device, [&](const Array& a) { return reduced(R{}, a, {axes}, Dtype::float32); }, 8, x);
      }
    }
    check_on_gpu(
        device, [&](const Array& a) { return reduced(R{}, a, AxisMask::of(1), dtype); }, 1, zeros({3, 0}, dtype));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Array odd = array<double>({1, nan, 2, inf, -inf, 0, 0, 3, 4, inf, 1, 2, -inf, 1, 1, nan}, {4, 4});
  for (const Dtype dtype : kFloatingDtypes) {
    for (const uint32_t axes : {1u, 2u, 3u}) {
      check_on_gpu(
          device, [&](const Array& a) { return reduced(R{}, a, {axes}, dtype); }, 1, odd.astype(dtype));
    }
  }
}

}  // namespace

TEST_CASE("cuda reduction: sums over every set of axes, in every layout and dtype") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const Layout layout : kLayouts) {
      const Array x = in_layout(small_integers({3, 4, 5, 8}, dtype), layout);
      for (uint32_t axes = 0; axes < 16; ++axes) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(axes);
        const Dtype to = is_integral(dtype) ? Dtype::int64 : dtype;
        check_on_gpu(
            *device, [&](const Array& a) { return reduced(kernels::Sum{}, a, {axes}, to); }, 1, x);
      }
    }
  }
}

TEST_CASE("cuda reduction: rows and columns of all lengths") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::float64, Dtype::int32}) {
    for (const int64_t n : {1, 2, 7, 31, 32, 33, 100, 255, 1000, 1025, 4097, 20000}) {
      CAPTURE(name(dtype));
      CAPTURE(n);
      const Dtype to = dtype == Dtype::float16 ? Dtype::float32 : dtype;
      const auto sums = [&](const Array& a) {
        return std::vector<Array>{reduced(kernels::Sum{}, a, AxisMask::of(1), to),
                                  reduced(kernels::SquareSum{}, a, AxisMask::of(0), to)};
      };
      check_on_gpu(*device, sums, 20, uniform_array({3, n}, -1, 1).astype(dtype));
      check_on_gpu(*device, sums, 20, uniform_array({n, 3}, -1, 1).astype(dtype));
      if (n <= 1025) check_on_gpu(*device, sums, 20, uniform_array({n, 40}, -1, 1).astype(dtype));
    }
  }
}

TEST_CASE("cuda reduction: rows that begin anywhere") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({5, 2005}, -1, 1, Dtype::float16);
  for (const int64_t begin : {0, 1, 3, 8}) {
    for (const int64_t n : {1, 9, 200, 1990}) {
      CAPTURE(begin);
      CAPTURE(n);
      check_on_gpu(
          *device, [](const Array& a) { return reduced(kernels::Sum{}, a, AxisMask::of(1), Dtype::float32); }, 20,
          x.slice(1, begin, n));
    }
  }
}

TEST_CASE("cuda reduction: everything at once") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {0, 1, 33, 5000, 100003}) {
    CAPTURE(n);
    for (const Dtype dtype : kDtypes) {
      CAPTURE(name(dtype));
      const Dtype to = is_integral(dtype) ? Dtype::int64 : (is_half(dtype) ? Dtype::float32 : dtype);
      check_on_gpu(
          *device, [&](const Array& a) { return reduced(kernels::Sum{}, a, AxisMask::all(1), to); }, 50,
          small_integers({n}, dtype));
    }
  }
}

TEST_CASE("cuda reduction: a tall matrix in several parts, and few elements under many results") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : {Shape{20000, 8}, Shape{20000, 3}, Shape{6, 3000, 4}, Shape{9000, 3, 2}}) {
    CAPTURE(shape);
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      for (uint32_t axes = 1; axes < 1u << shape.ndim(); ++axes) {
        CAPTURE(axes);
        check_on_gpu(
            *device, [&](const Array& a) { return reduced(kernels::Sum{}, a, {axes}, Dtype::float32); }, 50,
            uniform_array(shape, -1, 1, dtype));
      }
    }
  }
}

TEST_CASE("cuda reduction: every reducer") {
  const auto device = gpu_device();
  if (!device) return;
#define KUSARI_CHECK(R) check_reducer<kernels::R>(*device);
  KUSARI_REDUCTIONS(KUSARI_CHECK)
#undef KUSARI_CHECK
}

TEST_CASE("cuda reduction: results of any strides and with axes kept") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({4, 6, 5}, -1, 1);
  const Array expected = reduce(kernels::Sum{}, x, AxisMask::of(1));
  for (const Layout layout : kWritableLayouts) {
    const Array y = on_device(in_layout(zeros({4, 5}), layout), *device);
    launch<kernels::Reduction<kernels::Sum>>(*device, kernels::Sum{}, AxisMask::of(1), x.to_device(*device), y);
    check_same(y, expected);
  }
  check_same(reduce(kernels::Sum{}, x.to_device(*device), AxisMask::of(1), true),
             reduce(kernels::Sum{}, x, AxisMask::of(1), true));
}

TEST_CASE("cuda reduction: a reducer of floating numbers refuses integers") {
  const auto device = gpu_device();
  if (!device) return;
  CHECK_THROWS_WITH_AS(reduce(kernels::Mean{}, zeros({3}, Dtype::int32, *device)),
                       "mean: x has dtype int32 but must be floating", TypeError);
}

TEST_CASE("cuda reduction: one order of the sum") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({60, 1000}, -1, 1).to_device(*device);
  for (const uint32_t axes : {1u, 2u, 3u}) {
    const auto first = reduce(kernels::Sum{}, x, {axes}).to_vector<float>();
    CHECK(reduce(kernels::Sum{}, x, {axes}).to_vector<float>() == first);
  }
}
