#include "kusari/framework/links/model/rgb_bytes.h"

#include <string>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::links {
namespace {

bool is_channel_count(int64_t n) { return n == 1 || n == 3 || n == 4; }

// The image as (H, W, C) bytes.
Array to_bytes(const char* call, const Array& image) {
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
    throw ValueError(std::string(call) + ": image has shape " + to_string(shape) +
                     ": it must be (H, W), (H, W, C) or (C, H, W) with 1, 3 or 4 channels, and not empty");
  }
  return hwc.to_device(Device()).astype(Dtype::uint8).contiguous();
}

}  // namespace

Array rgb_bytes(const char* call, const Array& image) {
  if (!image.is_defined()) throw TypeError(std::string(call) + ": image is an undefined array");
  const Array hwc = to_bytes(call, image);
  const int64_t height = hwc.shape(0), width = hwc.shape(1), channels = hwc.shape(2);
  if (channels == 3) return hwc.transpose({2, 0, 1});
  Array rgb = empty_strided({3, height, width}, {1, width * 3, 3}, Dtype::uint8);
  const uint8_t* in = hwc.data<uint8_t>();
  uint8_t* out = rgb.data<uint8_t>();
  const int64_t step = channels == 1 ? 0 : 1;
  for (int64_t i = 0; i < height * width; ++i, in += channels, out += 3) {
    out[0] = in[0];
    out[1] = in[step];
    out[2] = in[2 * step];
  }
  return rgb;
}

}  // namespace kusari::links
