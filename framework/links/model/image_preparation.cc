#include "kusari/framework/links/model/image_preparation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"

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

// Three bytes for each pixel.
struct Picture {
  int64_t height, width;
  std::vector<uint8_t> bytes;
};

Picture to_rgb(const Array& image) {
  const Array hwc = to_bytes(image);
  const int64_t channels = hwc.shape(2);
  const std::vector<uint8_t> in = hwc.to_vector<uint8_t>();
  Picture picture{hwc.shape(0), hwc.shape(1),
                  std::vector<uint8_t>(static_cast<size_t>(hwc.shape(0) * hwc.shape(1) * 3))};
  for (size_t i = 0; i < picture.bytes.size(); ++i) {
    const size_t pixel = i / 3, channel = channels == 1 ? 0 : i % 3;
    picture.bytes[i] = in[pixel * static_cast<size_t>(channels) + channel];
  }
  return picture;
}

// Keys 1981 with a = -1/2.
double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

// One axis: `outer` lines of `from` places, each `inner` bytes, become lines of `to` places. Where an image shrinks,
// the filter is widened, so that every pixel counts.
std::vector<uint8_t> resize_axis(const std::vector<uint8_t>& in, int64_t outer, int64_t from, int64_t inner,
                                 int64_t to) {
  std::vector<uint8_t> out(static_cast<size_t>(outer * to * inner));
  const double scale = static_cast<double>(from) / static_cast<double>(to), widening = std::max(scale, 1.0);
  const double support = 2 * widening;
  std::vector<double> weights;
  for (int64_t place = 0; place < to; ++place) {
    const double center = (static_cast<double>(place) + 0.5) * scale;
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(center + support + 0.5), from);
    weights.clear();
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      weights.push_back(bicubic((static_cast<double>(k) - center + 0.5) / widening));
      sum += weights.back();
    }
    for (int64_t line = 0; line < outer; ++line) {
      for (int64_t i = 0; i < inner; ++i) {
        double value = 0;
        for (int64_t k = begin; k < end; ++k) {
          value += weights[static_cast<size_t>(k - begin)] * in[static_cast<size_t>((line * from + k) * inner + i)];
        }
        out[static_cast<size_t>((line * to + place) * inner + i)] =
            static_cast<uint8_t>(std::clamp(std::floor(value / sum + 0.5), 0.0, 255.0));
      }
    }
  }
  return out;
}

// Rows first, each rounded to bytes, as Pillow does it.
Picture resize(Picture picture, int64_t height, int64_t width) {
  if (picture.width != width) {
    picture.bytes = resize_axis(picture.bytes, picture.height, picture.width, 3, width);
    picture.width = width;
  }
  if (picture.height != height) {
    picture.bytes = resize_axis(picture.bytes, 1, picture.height, picture.width * 3, height);
    picture.height = height;
  }
  return picture;
}

}  // namespace

Array prepare(const Array& image, const ImagePreparation& preparation, const std::optional<PerAxis>& size) {
  Picture picture = to_rgb(image);
  if (size) {
    const Dims sizes = size->resolve(2, "prepare", "size");
    if (sizes[0] < 1 || sizes[1] < 1)
      throw ValueError("prepare: size is " + to_string(sizes) + ": it must be positive");
    picture = resize(std::move(picture), sizes[0], sizes[1]);
  }
  std::vector<float> values(picture.bytes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t pixel = i / 3, channel = i % 3;
    const double byte = picture.bytes[pixel * 3 + (preparation.bgr ? 2 - channel : channel)];
    values[i] = static_cast<float>((byte - preparation.mean[channel]) / preparation.deviation[channel]);
  }
  return array(values, {picture.height, picture.width, 3}).transpose({2, 0, 1}).astype(get_dtype());
}

}  // namespace kusari::links
