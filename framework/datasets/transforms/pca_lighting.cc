#include "kusari/framework/datasets/transforms/pca_lighting.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

// Of ImageNet's RGB values in 0 .. 1, as in fb.resnet.torch and ChainerCV. A column is an axis.
constexpr double kEigenvalues[3] = {0.2175, 0.0188, 0.0045};
constexpr double kEigenvectors[3][3] = {
    {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};

template <class T>
T shifted(T x, float by) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(std::lround(static_cast<float>(x) + by), 0L, 255L));
  } else {
    return x + by;
  }
}

}  // namespace

Array PcaLighting::operator()(const Array& image, ExampleRandom& random) const {
  const char* const call = "transforms::PcaLighting";
  detail::check_image(call, image);
  if (image.shape()[0] != 3) {
    throw ValueError(std::string(call) + ": the image has shape " + to_string(image.shape()) +
                     ": it must have 3 channels, red, green and blue");
  }
  if (!(sigma >= 0)) throw ValueError(std::string(call) + ": sigma is " + std::to_string(sigma) + ", it must be >= 0");
  if (sigma == 0) return image;
  double color[3] = {};
  for (int k = 0; k < 3; ++k) {
    const double weight = random.normal(0, sigma) * kEigenvalues[k];
    for (int c = 0; c < 3; ++c) color[c] += weight * kEigenvectors[c][k];
  }
  const float shift[3] = {static_cast<float>(color[0]), static_cast<float>(color[1]), static_cast<float>(color[2])};

  const Array rows = detail::with_pixel_rows(image);
  const int64_t height = rows.shape()[1], width = rows.shape()[2];
  const Array out = empty_image(3, {height, width}, rows.dtype());
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    // 256 different pixels at most: a table saves the rounding of each.
    T table[3][256];
    if constexpr (std::is_same_v<T, uint8_t>) {
      for (int c = 0; c < 3; ++c) {
        for (int v = 0; v < 256; ++v) table[c][v] = shifted(static_cast<uint8_t>(v), shift[c]);
      }
    }
    for (int64_t y = 0; y < height; ++y) {
      const T* from = rows.data<T>() + y * rows.strides()[1];
      T* to = out.data<T>() + y * width * 3;
      for (int64_t i = 0; i < 3 * width; i += 3) {
        for (int c = 0; c < 3; ++c) {
          if constexpr (std::is_same_v<T, uint8_t>) {
            to[i + c] = table[c][from[i + c]];
          } else {
            to[i + c] = shifted(from[i + c], shift[c]);
          }
        }
      }
    }
  });
  return out;
}

}  // namespace kusari::datasets::transforms
