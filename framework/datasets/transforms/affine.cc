#include "kusari/framework/datasets/transforms/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "kusari/framework/core/argument.h"

namespace kusari::datasets::transforms {
namespace {

struct Source {
  int64_t y, x;
};

/// The image whose pixel (y, x) is that of `rows` at source_of(y, x), `fill` where there is none.
template <class SourceOf>
Array moved_pixels(const Array& rows, double fill, const SourceOf& source_of) {
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  Array out = empty_image(channels, detail::size_of(rows), rows.dtype());
  if (out.size() == 0) return out;
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    const T blank = Scalar(fill).as<T>();
    T* to = out.data<T>();
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x, to += channels) {
        const Source source = source_of(y, x);
        if (source.x < 0 || source.x >= width || source.y < 0 || source.y >= height) {
          std::fill(to, to + channels, blank);
        } else {
          std::memcpy(to, rows.data<T>() + source.y * rows.strides()[1] + source.x * channels,
                      static_cast<size_t>(channels) * sizeof(T));
        }
      }
    }
  });
  return out;
}

/// In units of 2^-16.
int64_t fixed_point(double value) { return static_cast<int64_t>(std::floor(value * 65536.0 + 0.5)); }

Array moved_affinely(const char* call, const Array& image, const Affine& map) {
  detail::check_pixel(call, "fill", map.fill, image.dtype());
  const auto check = [&](const char* name, double value, double most, const char* rule) {
    argument::require(std::abs(value) <= most, call, name, value, rule);
  };
  check("xx", map.xx, 0x1p15, "be within -2^15 and 2^15");
  check("xy", map.xy, 0x1p15, "be within -2^15 and 2^15");
  check("yx", map.yx, 0x1p15, "be within -2^15 and 2^15");
  check("yy", map.yy, 0x1p15, "be within -2^15 and 2^15");
  check("x0", map.x0, 0x1p31, "be within -2^31 and 2^31");
  check("y0", map.y0, 0x1p31, "be within -2^31 and 2^31");
  const Array rows = detail::with_pixel_rows(image);
  // Middles of pixels.
  const double x0 = map.x0 + map.xx * 0.5 + map.xy * 0.5, y0 = map.y0 + map.yx * 0.5 + map.yy * 0.5;
  if (map.xy == 0 && map.yx == 0) {
    return moved_pixels(rows, map.fill, [&](int64_t y, int64_t x) {
      return Source{static_cast<int64_t>(std::floor(y0 + static_cast<double>(y) * map.yy)),
                    static_cast<int64_t>(std::floor(x0 + static_cast<double>(x) * map.xx))};
    });
  }
  const int64_t xx = fixed_point(map.xx), xy = fixed_point(map.xy), yx = fixed_point(map.yx), yy = fixed_point(map.yy);
  const int64_t x_first = fixed_point(x0), y_first = fixed_point(y0);
  return moved_pixels(rows, map.fill, [&](int64_t y, int64_t x) {
    return Source{(y_first + yx * x + yy * y) >> 16, (x_first + xx * x + xy * y) >> 16};
  });
}

/// To 15 digits behind the point, so that right angles have zeros.
double rounded(double value) { return std::nearbyint(value * 1e15) / 1e15; }

}  // namespace

Array Affine::operator()(const Array& image) const {
  detail::check_image("transforms::Affine", image);
  return moved_affinely("transforms::Affine", image, *this);
}

Array Rotate::operator()(const Array& image) const {
  const char* const call = "transforms::Rotate";
  detail::check_image(call, image);
  argument::finite(call, "degrees", degrees);
  const double turned = degrees - 360 * std::floor(degrees / 360);
  const double angle = -turned * (std::numbers::pi / 180), cos = rounded(std::cos(angle)),
               sin = rounded(std::sin(angle));
  const double x = static_cast<double>(image.shape()[2]) / 2, y = static_cast<double>(image.shape()[1]) / 2;
  return moved_affinely(call, image,
                        {.xx = cos,
                         .xy = sin,
                         .x0 = x - (cos * x + sin * y),
                         .yx = -sin,
                         .yy = cos,
                         .y0 = y - (cos * y - sin * x),
                         .fill = fill});
}

}  // namespace kusari::datasets::transforms
