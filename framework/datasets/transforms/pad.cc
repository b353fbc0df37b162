#include "kusari/framework/datasets/transforms/pad.h"

#include <algorithm>
#include <cstring>

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

/// The place in [0, n) from which place i, inside or outside, takes its value in modes edge and reflect.
int64_t source_of(int64_t i, int64_t n, PadMode mode) {
  if (mode == PadMode::edge || n == 1) return std::clamp<int64_t>(i, 0, n - 1);
  const int64_t period = 2 * (n - 1);
  const int64_t folded = ((i % period) + period) % period;
  return folded < n ? folded : period - folded;
}

template <class T>
void fill(T* to, int64_t n, T value) {
  std::fill(to, to + n, value);
}

}  // namespace

Array Pad::operator()(const Array& image) const {
  const char* const call = "transforms::Pad";
  detail::check_image(call, image);
  const auto& [top, bottom, left, right] = margins;
  if (std::min({top, bottom, left, right}) < 0) {
    throw ValueError(std::string(call) + ": margins are " + std::to_string(top) + ", " + std::to_string(bottom) + ", " +
                     std::to_string(left) + ", " + std::to_string(right) + " (top, bottom, left, right): none may be " +
                     "negative");
  }
  if (mode == PadMode::constant) detail::check_pixel(call, "value", value, image.dtype());
  const Array rows = detail::with_pixel_rows(image);
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  if (mode != PadMode::constant && (height == 0 || width == 0)) {
    throw ValueError(std::string(call) + ": an image of " + to_string(detail::size_of(rows)) +
                     " has no pixels to repeat");
  }
  const Size size(height + top + bottom, width + left + right);
  const Array out = empty_image(channels, size, rows.dtype());
  if (out.size() == 0) return out;  // of how many rows ever
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    const T blank = Scalar(value).as<T>();
    const int64_t pitch = size.width * channels;
    for (int64_t y = 0; y < size.height; ++y) {
      T* to = out.data<T>() + y * pitch;
      const bool outside = y < top || y >= top + height;
      if (outside && mode == PadMode::constant) {
        fill(to, pitch, blank);
        continue;
      }
      const int64_t source = outside ? source_of(y - top, height, mode) : y - top;
      const T* from = rows.data<T>() + source * rows.strides()[1];
      std::memcpy(to + left * channels, from, static_cast<size_t>(width * channels) * sizeof(T));
      if (mode == PadMode::constant) {
        fill(to, left * channels, blank);
        fill(to + (left + width) * channels, right * channels, blank);
        continue;
      }
      const auto copy_pixel = [&](int64_t x) {
        std::memcpy(to + x * channels, from + source_of(x - left, width, mode) * channels,
                    static_cast<size_t>(channels) * sizeof(T));
      };
      for (int64_t x = 0; x < left; ++x) copy_pixel(x);
      for (int64_t x = left + width; x < size.width; ++x) copy_pixel(x);
    }
  });
  return out;
}

}  // namespace kusari::datasets::transforms
