#include "kusari/framework/datasets/transforms/random_expand.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/datasets/transforms/canvas.h"

namespace kusari::datasets::transforms {

Array RandomExpand::operator()(const Array& image, ExampleRandom& random) const {
  return (*this)(BoxedImage{image, {}, {}}, random).image;
}

BoxedImage RandomExpand::operator()(const BoxedImage& boxed, ExampleRandom& random) const {
  const char* const call = "transforms::RandomExpand";
  detail::check_image(call, boxed.image);
  argument::require(max_ratio >= 1 && max_ratio <= 1000, call, "max_ratio", max_ratio, "be in [1, 1000]");
  argument::require(probability >= 0 && probability <= 1, call, "probability", probability, "be in [0, 1]");
  if (!random.chance(probability)) return boxed;
  const Size old = detail::size_of(boxed.image);
  const double ratio = random.uniform(1, max_ratio);
  const Size size(static_cast<int64_t>(static_cast<double>(old.height) * ratio),
                  static_cast<int64_t>(static_cast<double>(old.width) * ratio));
  const int64_t top = random.integer(size.height - old.height + 1), left = random.integer(size.width - old.width + 1);
  return {detail::on_canvas(call, boxed.image, size, top, left, fill),
          translate_bbox(boxed.bbox, static_cast<double>(top), static_cast<double>(left)), boxed.index};
}

}  // namespace kusari::datasets::transforms
