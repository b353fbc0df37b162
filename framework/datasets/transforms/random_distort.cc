#include "kusari/framework/datasets/transforms/random_distort.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kDistort = "transforms::RandomDistort";

struct Pixel {
  float r, g, b;
};

struct Hsv {
  float hue;  // degrees, [0, 360)
  float saturation, value;
};

Hsv hsv_of(const Pixel& p) {
  const float value = std::max({p.r, p.g, p.b}), range = value - std::min({p.r, p.g, p.b});
  if (range <= 0) return {0, 0, value};
  float hue = 0;
  if (value == p.r) {
    hue = 60 * (p.g - p.b) / range;
  } else if (value == p.g) {
    hue = 120 + 60 * (p.b - p.r) / range;
  } else {
    hue = 240 + 60 * (p.r - p.g) / range;
  }
  return {hue < 0 ? hue + 360 : hue, range / value, value};
}

Pixel pixel_of(const Hsv& hsv) {
  const auto channel = [&](float n) {  // https://en.wikipedia.org/wiki/HSL_and_HSV#HSV_to_RGB_alternative
    const float k = std::fmod(n + hsv.hue / 60, 6.F);
    return hsv.value * (1 - hsv.saturation * std::clamp(std::min(k, 4 - k), 0.F, 1.F));
  };
  return {channel(5), channel(3), channel(1)};
}

float cut(float value) { return std::clamp(value, 0.F, 255.F); }

void multiply_and_add(std::vector<Pixel>& pixels, float factor, float sum) {
  for (Pixel& p : pixels) p = {cut(p.r * factor + sum), cut(p.g * factor + sum), cut(p.b * factor + sum)};
}

void saturate(std::vector<Pixel>& pixels, float factor) {
  for (Pixel& p : pixels) {
    Hsv hsv = hsv_of(p);
    hsv.saturation = std::min(hsv.saturation * factor, 1.F);
    p = pixel_of(hsv);
  }
}

void turn_hue(std::vector<Pixel>& pixels, float degrees) {
  for (Pixel& p : pixels) {
    Hsv hsv = hsv_of(p);
    hsv.hue = std::fmod(hsv.hue + degrees + 720, 360.F);
    p = pixel_of(hsv);
  }
}

void check_range(const char* name, double low, double high) {
  argument::require(low >= 0 && low <= high && std::isfinite(high), kDistort, name, low, "be in [0, the upper one]");
}

}  // namespace

Array RandomDistort::operator()(const Array& image, ExampleRandom& random) const {
  detail::check_image(kDistort, image);
  if (image.shape()[0] != 3) {
    throw ValueError(std::string(kDistort) + ": the image has " + std::to_string(image.shape()[0]) +
                     " channels: it must have 3");
  }
  argument::finite_not_negative(kDistort, "brightness_delta", brightness_delta);
  argument::require(hue_delta >= 0 && hue_delta <= 360, kDistort, "hue_delta", hue_delta, "be in [0, 360]");
  check_range("contrast_low", contrast_low, contrast_high);
  check_range("saturation_low", saturation_low, saturation_high);

  const Array rows = detail::with_pixel_rows(image);
  const Size size = detail::size_of(rows);
  std::vector<Pixel> pixels(static_cast<size_t>(size.height * size.width));
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t y = 0; y < size.height; ++y) {
      const T* from = rows.data<T>() + y * rows.strides()[1];
      for (int64_t x = 0; x < size.width; ++x, from += 3) {
        pixels[static_cast<size_t>(y * size.width + x)] = {static_cast<float>(from[0]), static_cast<float>(from[1]),
                                                           static_cast<float>(from[2])};
      }
    }
  });

  const auto drawn = [&](double low, double high) { return static_cast<float>(random.uniform(low, high)); };
  const auto change_contrast = [&] {
    if (random.chance(0.5)) multiply_and_add(pixels, drawn(contrast_low, contrast_high), 0);
  };
  if (random.chance(0.5)) multiply_and_add(pixels, 1, drawn(-brightness_delta, brightness_delta));
  const bool is_contrast_first = random.chance(0.5);
  if (is_contrast_first) change_contrast();
  if (random.chance(0.5)) saturate(pixels, drawn(saturation_low, saturation_high));
  if (random.chance(0.5)) turn_hue(pixels, drawn(-hue_delta, hue_delta));
  if (!is_contrast_first) change_contrast();

  const Array out = empty_image(3, size, rows.dtype());
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    T* to = out.data<T>();
    for (const Pixel& p : pixels) {
      for (const float value : {p.r, p.g, p.b}) {
        *to++ = std::is_integral_v<T> ? static_cast<T>(std::lround(cut(value))) : static_cast<T>(value);
      }
    }
  });
  return out;
}

}  // namespace kusari::datasets::transforms
