#include "kusari/framework/datasets/transforms/canvas.h"

#include <cstring>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms::detail {

Array on_canvas(const char* call, const Array& image, const Size& size, int64_t top, int64_t left,
                const std::vector<double>& fill) {
  check_image(call, image);
  const Array rows = with_pixel_rows(image);
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], width = rows.shape()[2];
  if (fill.size() != 1 && static_cast<int64_t>(fill.size()) != channels) {
    throw ValueError(std::string(call) + ": fill has " + std::to_string(fill.size()) + " values for " +
                     std::to_string(channels) + " channels: there must be one, or one for each");
  }
  for (const double value : fill) check_pixel(call, "fill", value, rows.dtype());
  const Array canvas = empty_image(channels, size, rows.dtype());
  visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    T* const to = canvas.data<T>();
    for (int64_t i = 0; i < size.height * size.width; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        to[i * channels + c] = Scalar(fill[fill.size() == 1 ? 0 : static_cast<size_t>(c)]).as<T>();
      }
    }
    for (int64_t y = 0; y < height; ++y) {
      std::memcpy(to + ((top + y) * size.width + left) * channels, rows.data<T>() + y * rows.strides()[1],
                  static_cast<size_t>(width * channels) * sizeof(T));
    }
  });
  return canvas;
}

}  // namespace kusari::datasets::transforms::detail
