#include <doctest/doctest.h>

#include "convolution_cases.h"

using namespace kusari;
using namespace kusari::testing;

TEST_CASE("cuda depthwise convolution: 3x3 kernels and others") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  for (const int64_t channels : {1, 3, 4, 8, 20, 64, 1040}) {
    const auto groups = channels;
    const Shape w = {channels, 1, 3, 3};
    const ConvolutionCase cases[] = {
        {{2, channels, 7, 9}, w, {1, 1}, {1, 1}, {1, 1}, groups},
        {{2, channels, 7, 9}, w, {2, 2}, {1, 1}, {1, 1}, groups},
        {{2, channels, 8, 10}, w, {2, 2}, {1, 1}, {1, 1}, groups},
        {{1, channels, 8, 11}, w, {2, 2}, {0, 0}, {1, 1}, groups},
        {{1, channels, 8, 11}, w, {1, 1}, {0, 2}, {1, 1}, groups},
        {{1, channels, 9, 8}, w, {2, 2}, {2, 0}, {1, 1}, groups},
        {{1, channels, 9, 8}, w, {2, 2}, {0, 1}, {1, 1}, groups},
        {{1, channels, 9, 8}, w, {3, 3}, {1, 1}, {1, 1}, groups},
        {{1, channels, 9, 8}, w, {1, 2}, {1, 1}, {2, 1}, groups},
        {{1, channels, 1, 1}, w, {1, 1}, {1, 1}, {1, 1}, groups},
        {{2, channels, 6, 5}, {channels, 1, 5, 2}, {1, 2}, {3, 1}, {1, 1}, groups},
    };
    const bool is_wide = channels > 64;  // all lanes of several blocks; the emulated device takes its time
    for (const ConvolutionCase& c : cases) {
      if (is_wide && &c > &cases[1]) break;
      for (const Dtype dtype : kFloatingDtypes) check_convolution(*device, c, dtype, dtype);
    }
  }
}

TEST_CASE("cuda depthwise convolution: images that are not aligned for packs") {
  const auto device = gpu_device();
  if (!device) return;
  const auto without_cudnn = using_config(&Config::use_cudnn, Use::never);
  const ConvolutionCase c = {{2, 8, 5, 5}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 8};
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kWritableLayouts) check_convolution(*device, c, dtype, dtype, layout);
    const Array w = uniform_array(c.w, -1, 1, dtype, 2);
    const Array flat = uniform_array({1 + numel(c.x)}, -1, 1, dtype, 1);
    const auto compute = [&](const Array& values, const Array& weights) {
      const Array x = values.as_strided(c.x, channels_last_strides(c.x), 1);
      const Array y = empty_channels_last(c.y(), dtype, values.device());
      launch<kernels::ConvolutionForward>(values.device(), c.geometry(), x, weights, Array(), y);
      return y;
    };
    check_on_gpu(*device, compute, 8, flat, w);
  }
}
