#include "kusari/framework/datasets/transforms/tones.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kusari/framework/core/argument.h"

namespace kusari::datasets::transforms {
namespace {

uint8_t byte_of(uint8_t value) { return value; }
uint8_t byte_of(float value) {
  return value > 0 ? static_cast<uint8_t>(std::nearbyint(std::min(value, 255.F))) : uint8_t{0};  // NaN: 0
}

/// Calls body(channel, value) for all values of an image with pixel rows.
template <class T, class Body>
void for_each_value(const Array& rows, const Body& body) {
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  for (int64_t y = 0; y < height; ++y) {
    const T* value = rows.data<T>() + y * rows.strides()[1];
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) body(static_cast<size_t>(c), *value++);
    }
  }
}

/// The image of map(channel, value).
template <class T, class Map>
Array mapped_values(const Array& rows, const Map& map) {
  Array out = empty_image(rows.shape()[0], detail::size_of(rows), rows.dtype());
  if (out.size() == 0) return out;
  T* to = out.data<T>();
  for_each_value<T>(rows, [&](size_t c, T value) { *to++ = static_cast<T>(map(c, value)); });
  return out;
}

struct Stretch {
  double scale = 1, shift = 0;
};

/// What each byte becomes.
using ByteMap = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

ByteMap equalizing_map(const Histogram& counts) {
  ByteMap map;
  for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<uint8_t>(i);
  int64_t total = 0, last = 0, values = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    total += count;
    last = count;
    ++values;
  }
  const int64_t step = (total - last) / 255;
  if (values < 2 || step == 0) return map;
  int64_t before = step / 2;
  for (size_t i = 0; i < map.size(); ++i) {
    map[i] = static_cast<uint8_t>(std::min<int64_t>(before / step, 255));
    before += counts[i];
  }
  return map;
}

}  // namespace

Array AutoContrast::operator()(const Array& image) const {
  detail::check_image("transforms::AutoContrast", image);
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    struct Limits {
      double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    };
    std::vector<Limits> ranges(static_cast<size_t>(rows.shape()[0]));
    for_each_value<T>(rows, [&](size_t c, T value) {
      ranges[c].low = std::min(ranges[c].low, static_cast<double>(value));
      ranges[c].high = std::max(ranges[c].high, static_cast<double>(value));
    });
    std::vector<Stretch> stretches;
    stretches.reserve(ranges.size());
    for (const Limits& range : ranges) {
      const double scale = 255.0 / (range.high - range.low);
      stretches.push_back(range.high > range.low ? Stretch{scale, -range.low * scale} : Stretch{});
    }
    return mapped_values<T>(rows, [&](size_t c, T value) {
      return std::clamp(static_cast<double>(value) * stretches[c].scale + stretches[c].shift, 0.0, 255.0);
    });
  });
}

Array Equalize::operator()(const Array& image) const {
  detail::check_image("transforms::Equalize", image);
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    std::vector<Histogram> counts(static_cast<size_t>(rows.shape()[0]), Histogram{});
    for_each_value<T>(rows, [&](size_t c, T value) { ++counts[c][byte_of(value)]; });
    std::vector<ByteMap> maps;
    maps.reserve(counts.size());
    for (const Histogram& histogram : counts) maps.push_back(equalizing_map(histogram));
    return mapped_values<T>(rows, [&](size_t c, T value) { return maps[c][byte_of(value)]; });
  });
}

Array Posterize::operator()(const Array& image) const {
  const char* const call = "transforms::Posterize";
  detail::check_image(call, image);
  argument::require(bits >= 1 && bits <= 8, call, "bits", bits, "be in [1, 8]");
  const int mask = 256 - (1 << (8 - bits));
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    return mapped_values<T>(rows, [&](size_t, T value) { return byte_of(value) & mask; });
  });
}

Array Solarize::operator()(const Array& image) const {
  const char* const call = "transforms::Solarize";
  detail::check_image(call, image);
  argument::not_nan(call, "threshold", threshold);
  const Array rows = detail::with_pixel_rows(image);
  return detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    return mapped_values<T>(rows, [&](size_t, T value) { return value < threshold ? value : 255 - value; });
  });
}

}  // namespace kusari::datasets::transforms
