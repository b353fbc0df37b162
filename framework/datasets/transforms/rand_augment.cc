#include "kusari/framework/datasets/transforms/rand_augment.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transforms/affine.h"
#include "kusari/framework/datasets/transforms/enhance.h"
#include "kusari/framework/datasets/transforms/tones.h"

namespace kusari::datasets::transforms {
namespace {

enum class Augmentation {
  none,
  auto_contrast,
  equalize,
  rotate,
  solarize,
  color,
  posterize,
  contrast,
  brightness,
  sharpness,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  count
};

}  // namespace

Array RandAugment::operator()(const Array& image, ExampleRandom& random) const {
  const char* const call = "transforms::RandAugment";
  detail::check_image(call, image);
  argument::require(n_ops >= 0 && n_ops <= 100, call, "n_ops", n_ops, "be in [0, 100]");
  argument::require(magnitude >= 0 && magnitude <= 30, call, "magnitude", magnitude, "be in [0, 30]");
  detail::check_pixel(call, "fill", fill, image.dtype());
  if (image.shape()[0] != 1 && image.shape()[0] != 3) {
    throw ValueError(std::string(call) + ": the image has " + std::to_string(image.shape()[0]) +
                     " channels: it must have 1 or 3");
  }
  const double strength = magnitude / 30;
  const Size size = detail::size_of(image);
  const auto either = [&](double value) { return random.chance(0.5) ? -value : value; };
  const auto factor = [&] { return 1 + either(0.9 * strength); };
  const auto pixels_of = [&](int64_t side) {
    return either(std::trunc(150.0 / 331.0 * strength * static_cast<double>(side)));
  };
  const auto augmented = [&](const Array& x) -> Array {
    switch (static_cast<Augmentation>(random.integer(static_cast<int64_t>(Augmentation::count)))) {
      case Augmentation::auto_contrast:
        return AutoContrast{}(x);
      case Augmentation::equalize:
        return Equalize{}(x);
      case Augmentation::rotate:
        return Rotate{either(30 * strength), fill}(x);
      case Augmentation::solarize:
        return Solarize{255 * (1 - strength)}(x);
      case Augmentation::color:
        return Color{factor()}(x);
      case Augmentation::posterize:
        return Posterize{8 - static_cast<int>(std::lround(4 * strength))}(x);
      case Augmentation::contrast:
        return Contrast{factor()}(x);
      case Augmentation::brightness:
        return Brightness{factor()}(x);
      case Augmentation::sharpness:
        return Sharpness{factor()}(x);
      case Augmentation::shear_x:
        return Affine{.xy = either(0.3 * strength), .fill = fill}(x);
      case Augmentation::shear_y:
        return Affine{.yx = either(0.3 * strength), .fill = fill}(x);
      case Augmentation::translate_x:
        return Affine{.x0 = pixels_of(size.width), .fill = fill}(x);
      case Augmentation::translate_y:
        return Affine{.y0 = pixels_of(size.height), .fill = fill}(x);
      default:
        return x;
    }
  };
  Array result = image;
  for (int op = 0; op < n_ops; ++op) result = augmented(result);
  return result;
}

}  // namespace kusari::datasets::transforms
