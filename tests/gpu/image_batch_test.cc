#include "kusari/framework/kernels/image_batch.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/image_converter.h"
#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

kernels::ChannelScales some_scales() {
  kernels::ChannelScales scales;
  for (int c = 0; c < kernels::ChannelScales::kMaxChannels; ++c) {
    scales.mean[c] = 120.25 - 13 * c;
    scales.scale[c] = 1 / (3.7 + c);
  }
  return scales;
}

/// y in the layout, which an array of its shape shows.
Array normalize(const Array& x, const Array& mirrored, const Array& like) {
  const Array y = like.copy();
  launch<kernels::NormalizeImages>(x.device(), some_scales(), x, mirrored, y);
  return y;
}

Array noisy_images(const Shape& shape, Dtype dtype) { return uniform_array(shape, 0, 256).astype(dtype); }

/// The same bits on both devices: the arithmetic is one difference and one product.
void check_images(const Device& device, const Array& x, const Array& mirrored, const Array& y) {
  const Array expected = normalize(x, mirrored, y);
  const Array to = on_device(y, device);
  launch<kernels::NormalizeImages>(device, some_scales(), on_device(x, device), on_device(mirrored, device), to);
  check_same(to, expected, 0);
}

}  // namespace

TEST_CASE("cuda normalize_images: without gaps") {
  const auto device = gpu_device();
  if (!device) return;
  const Array flags = array<uint8_t>({0, 1, 1, 0, 9});
  // Packs within a line, across lines, across images, and a last one that is not whole.
  for (const Shape& shape : {Shape{5, 3, 4, 16},
                             {5, 3, 4, 5},
                             {5, 3, 5, 5},
                             {5, 1, 7, 9},
                             {5, 4, 3, 3},
                             {5, 3, 1, 1},
                             {5, 1, 1, 1},
                             {5, 3, 0, 2},
                             {5, 4, 20, 20},
                             {5, 3, 33, 70}}) {
    CAPTURE(shape);
    for (const Dtype from : {Dtype::uint8, Dtype::float32}) {
      const Array x = in_layout(noisy_images(shape, from), Layout::channels_last);
      for (const Dtype to : kFloatingDtypes) {
        CAPTURE(name(from));
        CAPTURE(name(to));
        const Array y = empty_channels_last(shape, to);
        check_images(*device, x, Array(), y);
        check_images(*device, x, flags, y);
      }
    }
  }
}

TEST_CASE("cuda normalize_images: any layout") {
  const auto device = gpu_device();
  if (!device) return;
  const Array flags = array<uint8_t>({0, 1, 1, 0, 9, 3}).slice(0, 0, 3, 2);
  for (const Shape& shape : {Shape{3, 3, 4, 5}, {3, 1, 4, 5}, {3, 16, 2, 3}, {3, 2, 5, 3}}) {
    CAPTURE(shape);
    for (const Dtype from : {Dtype::uint8, Dtype::float16, Dtype::float32, Dtype::float64}) {
      for (const Layout x_layout : kLayouts) {
        const Array x = in_layout(noisy_images(shape, from), x_layout);
        for (const Layout y_layout : kWritableLayouts) {
          for (const Dtype to : {Dtype::float32, Dtype::float16, Dtype::float64}) {
            CAPTURE(name(from));
            CAPTURE(name(to));
            CAPTURE(static_cast<int>(x_layout));
            CAPTURE(static_cast<int>(y_layout));
            check_images(*device, x, flags, in_layout(zeros(shape, to), y_layout));
          }
        }
      }
    }
  }
}

TEST_CASE("cuda normalize_images: addresses that are not aligned") {
  const auto device = gpu_device();
  if (!device) return;
  const Array all = noisy_images({6 * 5 * 7 * 3 + 1}, Dtype::uint8);
  const Array x = all.as_strided({6, 3, 5, 7}, {105, 1, 21, 3}, 1);
  check_images(*device, x, Array(), empty_channels_last({6, 3, 5, 7}, Dtype::float16));
}

TEST_CASE("cuda image_converter gives what it gives on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  const Array images = in_layout(noisy_images({6, 3, 10, 12}, Dtype::uint8), Layout::channels_last);
  std::vector<datasets::Example> batch;
  for (int64_t i = 0; i < 6; ++i) batch.push_back({images.at(i), array<int32_t>({static_cast<int32_t>(i)}, Shape{})});
  const auto guard = using_config(&Config::dtype, mixed16);
  const auto convert = datasets::image_converter({.mean = {10, 20, 30}, .deviation = {3}, .random_flip = true});
  const auto on = [&](const Device& where) {
    const datasets::ExampleRandomScope scope(3, 4);
    return convert(batch, where);
  };
  const datasets::Example expected = on(Device()), got = on(*device);
  REQUIRE(got.size() == 2);
  CHECK(got[0].device() == *device);
  CHECK(got[0].is_channels_last());
  check_same(got[0], expected[0], 0);
  check_same(got[1], expected[1], 0);
}
