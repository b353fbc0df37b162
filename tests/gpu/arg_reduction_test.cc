#include <doctest/doctest.h>

#include <limits>

#include "kusari/framework/kernels/reduce.h"
#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

std::vector<Array> places(const Array& x, int axis, Dtype dtype) {
  const Shape shape = axis < 0 ? Shape{} : reduced_shape(x.shape(), AxisMask::of(axis), false);
  const Array largest = empty(shape, dtype, x.device()), smallest = empty(shape, dtype, x.device());
  launch<kernels::Argmax>(x.device(), axis, x, largest);
  launch<kernels::Argmin>(x.device(), axis, x, smallest);
  return {largest, smallest};
}

}  // namespace

TEST_CASE("cuda arg reduction: every axis, layout and dtype, with equal elements") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const Layout layout : kLayouts) {
      const Array x = in_layout(uniform_array({3, 4, 5, 8}, -6, 6).astype(Dtype::int32).astype(dtype), layout);
      for (int axis = -1; axis < 4; ++axis) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(axis);
        check_on_gpu(
            *device, [&](const Array& a) { return places(a, axis, Dtype::int64); }, 1, x);
      }
    }
  }
}

TEST_CASE("cuda arg reduction: many sizes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : {Shape{1}, Shape{33}, Shape{5, 1000}, Shape{1000, 10}, Shape{3, 4097}, Shape{4097, 3},
                             Shape{2, 30000}, Shape{30000, 2}}) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
      CAPTURE(shape);
      for (int axis = -1; axis < shape.ndim(); ++axis) {
        CAPTURE(axis);
        check_on_gpu(
            *device, [&](const Array& a) { return places(a, axis, Dtype::int32); }, 1,
            uniform_array(shape, -100, 100, dtype));
      }
    }
  }
}

TEST_CASE("cuda arg reduction: the first NaN before all numbers") {
  const auto device = gpu_device();
  if (!device) return;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Array x = array<double>({1, nan, nan, inf, -inf, 0, -0.0, 0, inf, inf, -inf, -inf, 5, 5, 4, nan}, {4, 4});
  for (const Dtype dtype : kFloatingDtypes) {
    for (int axis = -1; axis < 2; ++axis) {
      check_on_gpu(
          *device, [&](const Array& a) { return places(a, axis, Dtype::int64); }, 1, x.astype(dtype));
    }
  }
}
