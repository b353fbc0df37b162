#include "kusari/framework/datasets/transforms/enhance.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

template <class T>
constexpr bool kIsBytes = std::is_same_v<T, uint8_t>;

/// Rounded after the product and after the sum, as in arithmetic of float, whatever the processor fuses.
template <class T>
T enhanced(float without, T value, float factor) {
  const auto change = static_cast<float>(static_cast<double>(factor) * (static_cast<double>(value) - without));
  const auto sum = static_cast<float>(static_cast<double>(without) + change);
  return static_cast<T>(std::clamp(sum, 0.F, 255.F));
}

/// Brightness of an RGB or grey pixel, for bytes Pillow's, in units of 2^-16.
float grey_of(const uint8_t* pixel, int64_t channels) {
  if (channels == 1) return *pixel;
  return static_cast<float>((pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
}
float grey_of(const float* pixel, int64_t channels) {
  return channels == 1 ? *pixel : 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
}

/// `without(pixel, channel, y, x)` is z: pixel points into a row, whose neighbours are strides()[1] away.
template <class T, class Without>
Array enhanced_image(const Array& rows, double factor, const Without& without) {
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  Array out = empty_image(channels, detail::size_of(rows), rows.dtype());
  if (out.size() == 0) return out;
  const auto scale = static_cast<float>(std::min(factor, 1e30));
  T* to = out.data<T>();
  for (int64_t y = 0; y < height; ++y) {
    const T* pixel = rows.data<T>() + y * rows.strides()[1];
    for (int64_t x = 0; x < width; ++x, pixel += channels) {
      for (int64_t c = 0; c < channels; ++c) *to++ = enhanced<T>(without(pixel, c, y, x), pixel[c], scale);
    }
  }
  return out;
}

void check_enhance(const char* call, const Array& image, double factor) {
  detail::check_image(call, image);
  argument::finite_not_negative(call, "factor", factor);
}

void check_grey_or_rgb(const char* call, const Array& image) {
  if (image.shape()[0] == 1 || image.shape()[0] == 3) return;
  throw ValueError(std::string(call) + ": the image has " + std::to_string(image.shape()[0]) +
                   " channels: it must have 1 or 3");
}

template <class T>
float mean_grey(const Array& rows) {
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  double sum = 0;
  for (int64_t y = 0; y < height; ++y) {
    const T* pixel = rows.data<T>() + y * rows.strides()[1];
    for (int64_t x = 0; x < width; ++x, pixel += channels) sum += grey_of(pixel, channels);
  }
  const double mean = sum / static_cast<double>(height * width);
  return kIsBytes<T> ? static_cast<float>(std::floor(mean + 0.5)) : static_cast<float>(mean);
}

}  // namespace

Array Brightness::operator()(const Array& image) const {
  check_enhance("transforms::Brightness", image, factor);
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    return enhanced_image<T>(rows, factor, [](const T*, int64_t, int64_t, int64_t) { return 0.F; });
  });
}

Array Color::operator()(const Array& image) const {
  check_enhance("transforms::Color", image, factor);
  check_grey_or_rgb("transforms::Color", image);
  const Array rows = detail::with_pixel_rows(image);
  const int64_t channels = rows.shape()[0];
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    return enhanced_image<T>(rows, factor,
                             [&](const T* pixel, int64_t, int64_t, int64_t) { return grey_of(pixel, channels); });
  });
}

Array Contrast::operator()(const Array& image) const {
  check_enhance("transforms::Contrast", image, factor);
  check_grey_or_rgb("transforms::Contrast", image);
  if (image.size() == 0) return image;
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    const float mean = mean_grey<T>(rows);
    return enhanced_image<T>(rows, factor, [&](const T*, int64_t, int64_t, int64_t) { return mean; });
  });
}

Array Sharpness::operator()(const Array& image) const {
  check_enhance("transforms::Sharpness", image, factor);
  const Array rows = detail::with_pixel_rows(image);
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  const int64_t pitch = rows.strides()[1];
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    return enhanced_image<T>(rows, factor, [&](const T* pixel, int64_t c, int64_t y, int64_t x) -> float {
      if (y == 0 || x == 0 || y == height - 1 || x == width - 1) return static_cast<float>(pixel[c]);
      std::conditional_t<kIsBytes<T>, int, float> sum = 4 * pixel[c];
      for (int64_t row = -1; row <= 1; ++row) {
        for (int64_t column = -1; column <= 1; ++column) sum += pixel[row * pitch + column * channels + c];
      }
      if constexpr (kIsBytes<T>) {
        const int nearest = (2 * sum + 13) / 26;
        return static_cast<float>(nearest);
      } else {
        return sum / 13;
      }
    });
  });
}

}  // namespace kusari::datasets::transforms
