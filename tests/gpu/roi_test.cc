#include "kusari/framework/kernels/roi.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/tests/gpu/testing.h"

namespace kusari {
namespace {

using namespace testing;
using kernels::Roi;
using kernels::RoiKind;

bool is_max(const Roi& roi) { return roi.kind == RoiKind::max_pooling || roi.kind == RoiKind::max_align; }

/// Regions inside, across the edges of and outside of images of 12 x 12.
Array regions(Dtype dtype) {
  return array<double>({0, 0, 11, 11, 1.25, 2.5, 6.75, 8,  3, 3,   3,  3,  -4, -3, 5.5, 4,
                        8, 7, 20, 30, 40,   40,  50,   60, 6, 2.5, 10, 10, 9,  9,  2,   2},
                       {8, 4})
      .astype(dtype);
}

void check_roi(const Device& device, const Roi& roi, const Shape& shape, Dtype dtype, Dtype index_dtype,
               Layout layout) {
  CAPTURE(shape);
  CAPTURE(dtype);
  CAPTURE(static_cast<int>(roi.kind));
  CAPTURE(roi.sampling_ratio[0]);
  CAPTURE(static_cast<int>(layout));
  const Array rois = regions(dtype);
  const Array indices = array<int64_t>({0, 1, 1, 0, 1, 0, 0, 1}, {8}).astype(index_dtype);
  const Shape y{8, shape[1], roi.out[0], roi.out[1]};
  const auto all = [&](const Array& x, const Array& gy, const Array& at, const Array& images) {
    std::vector<Array> out{result_like(x, y, dtype, layout), Array(), result_like(x, shape, dtype, layout), Array()};
    if (is_max(roi)) {
      out[1] = result_like(x, y, Dtype::int32, layout);
      out[3] = result_like(x, y, dtype, layout);
    }
    launch<kernels::RoiForward>(x.device(), roi, x, at, images, out[0], out[1]);
    launch<kernels::RoiGrad>(x.device(), roi, gy, at, images, out[1], out[2]);
    if (is_max(roi)) launch<kernels::RoiPick>(x.device(), roi, x, at, images, out[1], out[3]);
    return out;
  };
  check_on_gpu(device, all, 16, in_layout(uniform_array(shape, -1, 1, dtype, 1), layout),
               in_layout(uniform_array(y, -1, 1, dtype, 2), layout), rois, indices);
}

const Roi kRois[] = {
    {.kind = RoiKind::max_pooling, .out = {3, 2}, .spatial_scale = 0.5},
    {.kind = RoiKind::max_pooling, .out = {4, 4}, .includes_last_pixel = true, .value_of_nothing = -1},
    {.kind = RoiKind::average_pooling, .out = {3, 2}, .spatial_scale = 0.75, .includes_last_pixel = true},
    {.kind = RoiKind::average_pooling, .out = {7, 7}},
    {.kind = RoiKind::max_align, .out = {3, 2}, .spatial_scale = 0.75, .sampling_ratio = {2, 3}},
    {.kind = RoiKind::max_align, .out = {2, 3}, .spatial_scale = 1},
    {.kind = RoiKind::average_align, .out = {3, 2}, .spatial_scale = 0.6, .sampling_ratio = {2, 1}},
    {.kind = RoiKind::average_align, .out = {5, 5}, .spatial_scale = 1},
    {.kind = RoiKind::average_align, .out = {2, 2}, .spatial_scale = 0.125, .least_size = 1e-6},
    {.kind = RoiKind::average_align, .out = {2, 3}, .least_size = 0},
    {.kind = RoiKind::max_align, .out = {2, 2}, .least_size = 0},
    // No sample on a pixel or halfway between two: there the last digit decides which one is the largest.
    {.kind = RoiKind::max_align, .out = {3, 2}, .spatial_scale = 0.77, .sampling_ratio = {2, 3}, .by_pixel = true},
    {.kind = RoiKind::max_align, .out = {2, 2}, .spatial_scale = 0.93, .least_size = 0, .by_pixel = true},
};

TEST_CASE("regions of interest: kinds, channels and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Roi& roi : kRois) {
    for (const Dtype dtype : kFloatingDtypes) {
      for (const int64_t channels : {1, 3, 8, 20})
        check_roi(*device, roi, {2, channels, 12, 12}, dtype, Dtype::int32, Layout::channels_last);
    }
    for (const int64_t channels : {64, 257})
      check_roi(*device, roi, {2, channels, 12, 10}, Dtype::float16, Dtype::int64, Layout::channels_last);
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::every_second})
      check_roi(*device, roi, {2, 8, 12, 12}, Dtype::float32, Dtype::int8, layout);
  }
}

TEST_CASE("regions of interest: none") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Roi& roi : kRois) {
    const Array gx = ones({2, 8, 4, 4}, Dtype::float32, *device);
    const Shape y{0, 8, roi.out[0], roi.out[1]};
    const Array argmax = is_max(roi) ? empty(y, Dtype::int32, *device) : Array();
    launch<kernels::RoiGrad>(*device, roi, empty(y, Dtype::float32, *device), empty({0, 4}, Dtype::float32, *device),
                             empty({0}, Dtype::int32, *device), argmax, gx);
    check_same(gx, zeros({2, 8, 4, 4}));
  }
}

// The CPU throws for these.
TEST_CASE("regions of interest: bad regions hold no pixel") {
  const auto device = gpu_device();
  if (!device) return;
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Array rois = array<float>({0, 0, 4, 4, 0, 0, 4, 4, nan, 0, 4, 4, 0, 0, inf, 4}, {4, 4}).to_device(*device);
  const Array indices = array<int64_t>({-1, 2, 0, 1}, {4}).to_device(*device);
  const Array x = ones({2, 8, 6, 6}, Dtype::float32, *device), gx = ones({2, 8, 6, 6}, Dtype::float32, *device);
  for (Roi roi : kRois) {
    roi.value_of_nothing = -2;
    const Shape shape{4, 8, roi.out[0], roi.out[1]};
    const Array y = zeros(shape, Dtype::float32, *device);
    const Array argmax = is_max(roi) ? zeros(shape, Dtype::int32, *device) : Array();
    launch<kernels::RoiForward>(*device, roi, x, rois, indices, y, argmax);
    check_same(y, full(shape, is_max(roi) ? -2 : 0, Dtype::float32));
    if (is_max(roi)) check_same(argmax, full(shape, -1, Dtype::int32));
    launch<kernels::RoiGrad>(*device, roi, y, rois, indices, argmax, gx);
    check_same(gx, zeros(gx.shape()));
  }
}

}  // namespace
}  // namespace kusari
