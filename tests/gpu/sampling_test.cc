#include "kusari/framework/kernels/sampling.h"

#include <cmath>
#include <vector>

#include "kusari/tests/gpu/testing.h"

namespace kusari {
namespace {

using namespace testing;

void check_resize(const Device& device, const Shape& from, const Shape& to, Dtype dtype, Layout layout) {
  CAPTURE(from);
  CAPTURE(to);
  CAPTURE(dtype);
  CAPTURE(static_cast<int>(layout));
  for (const kernels::Resize resize : {kernels::Resize{}, {.nearest = true}, {.align_corners = true}}) {
    CAPTURE(resize.nearest);
    CAPTURE(resize.align_corners);
    const auto both = [&](const Array& x, const Array& gy) {
      std::vector<Array> out{result_like(x, to, dtype, layout), result_like(x, from, dtype, layout)};
      launch<kernels::ResizeImages>(x.device(), resize, x, out[0]);
      launch<kernels::ResizeImagesGrad>(x.device(), resize, gy, out[1]);
      return out;
    };
    check_on_gpu(device, both, 8, in_layout(uniform_array(from, -1, 1, dtype, 1), layout),
                 in_layout(uniform_array(to, -1, 1, dtype, 2), layout));
  }
}

TEST_CASE("sampling: resized images") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const int64_t channels : {1, 3, 8, 20, 64, 257})
      check_resize(*device, {2, channels, 5, 6}, {2, channels, 8, 3}, dtype, Layout::channels_last);
    check_resize(*device, {1, 8, 1, 1}, {1, 8, 4, 7}, dtype, Layout::channels_last);
    check_resize(*device, {1, 8, 9, 12}, {1, 8, 1, 4}, dtype, Layout::channels_last);
    check_resize(*device, {2, 8, 7, 7}, {2, 8, 14, 21}, dtype, Layout::contiguous);
    check_resize(*device, {1, 8, 2, 2}, {1, 8, 2, 98}, dtype, Layout::contiguous);
  }
  for (const Layout layout : kLayouts) check_resize(*device, {2, 8, 5, 6}, {2, 8, 7, 4}, Dtype::float16, layout);
  check_resize(*device, {2, 8, 5, 6}, {2, 8, 0, 4}, Dtype::float32, Layout::contiguous);
  check_resize(*device, {0, 8, 5, 6}, {0, 8, 2, 4}, Dtype::float32, Layout::contiguous);
}

/// `points` need not have x's dtype.
void check_points(const Device& device, const Array& x, const Array& points, Layout layout) {
  CAPTURE(x.shape());
  CAPTURE(points.shape());
  CAPTURE(x.dtype());
  CAPTURE(static_cast<int>(layout));
  const Shape y{x.shape(0), x.shape(1), points.shape(2), points.shape(3)};
  const auto all = [&](const Array& in, const Array& at, const Array& gy) {
    std::vector<Array> out{result_like(in, y, in.dtype(), layout), result_like(in, in.shape(), in.dtype(), layout),
                           result_like(in, at.shape(), at.dtype(), layout),
                           result_like(in, in.shape(), in.dtype(), layout),
                           result_like(in, at.shape(), at.dtype(), layout)};
    launch<kernels::SampleBilinear>(in.device(), in, at, out[0]);
    launch<kernels::SampleBilinearGrad>(in.device(), in, at, gy, out[1], out[2]);
    launch<kernels::SampleBilinearGrad>(in.device(), in, at, gy, out[3], Array());
    launch<kernels::SampleBilinearGrad>(in.device(), in, at, gy, Array(), out[4]);
    return out;
  };
  check_on_gpu(device, all, 32, in_layout(x, layout), in_layout(points, layout),
               in_layout(uniform_array(y, -1, 1, x.dtype(), 3), layout));
}

TEST_CASE("sampling: images at points") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const int64_t channels : {1, 3, 8, 20, 64, 257}) {
      check_points(*device, uniform_array({2, channels, 5, 6}, -1, 1, dtype), uniform_array({2, 2, 7, 3}, -2, 7, dtype),
                   Layout::channels_last);
    }
    check_points(*device, uniform_array({1, 8, 4, 4}, -1, 1, dtype), uniform_array({1, 2, 20, 30}, 1, 2, dtype),
                 Layout::channels_last);  // all points in one cell
    const std::vector<double> edges{-1.5, -1, -0.5, 0, 1, 2, 3, 3.5, 4, 5};
    check_points(*device, uniform_array({1, 8, 4, 4}, -1, 1, dtype),
                 array(edges, {1, 1, 1, 10}).astype(dtype).broadcast_to({1, 2, 1, 10}), Layout::contiguous);
  }
  for (const Layout layout : kLayouts) {
    check_points(*device, uniform_array({2, 8, 5, 6}, -1, 1), uniform_array({2, 2, 7, 3}, -1, 6), layout);
  }
  check_points(*device, uniform_array({2, 8, 5, 6}, -1, 1, Dtype::float16),
               uniform_array({2, 2, 7, 3}, -1, 6, Dtype::float32), Layout::channels_last);
  for (const Shape& shape : {Shape{0, 8, 4, 4}, Shape{2, 0, 4, 4}, Shape{2, 8, 0, 4}}) {
    check_points(*device, zeros(shape), uniform_array({shape[0], 2, 3, 3}, -1, 6), Layout::contiguous);
  }
}

TEST_CASE("sampling: the gradient of an image does not depend on the order of threads") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({1, 4, 3, 3}, -1, 1), points = uniform_array({1, 2, 40, 40}, -1, 3);
  const Array gy = uniform_array({1, 4, 40, 40}, -1, 1).to_device(*device);
  const auto gradient = [&] {
    const Array gx = empty(x.shape(), x.dtype(), *device);
    launch<kernels::SampleBilinearGrad>(*device, x.to_device(*device), points.to_device(*device), gy, gx, Array());
    return gx.to_vector<float>();
  };
  const std::vector<float> first = gradient();
  for (int i = 0; i < 3; ++i) CHECK(gradient() == first);
}

}  // namespace
}  // namespace kusari
