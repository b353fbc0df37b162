#include "kusari/framework/links/model/image_preparation.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/kernels/image_resampling.h"

namespace kusari::links {
namespace {

bool is_channel_count(int64_t n) { return n == 1 || n == 3 || n == 4; }

// The image as (H, W, C) bytes.
Array to_bytes(const Array& image) {
  const auto [ndim, shape] = std::pair(image.ndim(), image.shape());
  Array hwc;
  if (ndim == 2) {
    hwc = image.expand_dims(2);
  } else if (ndim == 3 && (shape[0] == 1 || shape[0] == 3)) {
    hwc = image.transpose({1, 2, 0});
  } else if (ndim == 3 && is_channel_count(shape[2])) {
    hwc = image;
  } else if (ndim == 3 && shape[0] == 4) {
    hwc = image.transpose({1, 2, 0});
  }
  if (!hwc.is_defined() || hwc.size() == 0) {
    throw ValueError("prepare: image has shape " + to_string(shape) +
                     ": it must be (H, W), (H, W, C) or (C, H, W) with 1, 3 or 4 channels, and not empty");
  }
  return hwc.to_device(Device()).astype(Dtype::uint8).contiguous();
}

// (3, H, W) bytes, channels innermost in memory.
Array to_rgb(const Array& image) {
  const Array hwc = to_bytes(image);
  const int64_t height = hwc.shape(0), width = hwc.shape(1), channels = hwc.shape(2);
  Array rgb = empty_strided({3, height, width}, {1, width * 3, 3}, Dtype::uint8);
  const uint8_t* const in = hwc.data<uint8_t>();
  uint8_t* const out = rgb.data<uint8_t>();
  for (int64_t i = 0; i < rgb.size(); ++i) out[i] = in[i / 3 * channels + (channels == 1 ? 0 : i % 3)];
  return rgb;
}

}  // namespace

Array prepare(const Array& image, const ImagePreparation& preparation, const std::optional<PerAxis>& size) {
  Array picture = to_rgb(image);
  if (size) {
    const Dims sizes = size->resolve(2, "prepare", "size");
    if (sizes[0] < 1 || sizes[1] < 1)
      throw ValueError("prepare: size is " + to_string(sizes) + ": it must be positive");
    if (sizes[0] != picture.shape(1) || sizes[1] != picture.shape(2)) {
      picture = resample_image(picture, sizes[0], sizes[1], Interpolation::bicubic);
    }
  }
  const uint8_t* const bytes = picture.data<uint8_t>();
  std::vector<float> values = host_vector<float>({picture.size()}, "prepare");
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t pixel = i / 3, channel = i % 3;
    const double byte = bytes[pixel * 3 + (preparation.bgr ? 2 - channel : channel)];
    values[i] = static_cast<float>((byte - preparation.mean[channel]) / preparation.deviation[channel]);
  }
  return array(values, {picture.shape(1), picture.shape(2), 3}).transpose({2, 0, 1}).astype(get_dtype());
}

}  // namespace kusari::links
