#include "kusari/framework/datasets/transforms/scale_jitter.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/datasets/transforms/canvas.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kScaleJitter = "transforms::ScaleJitter";

}  // namespace

Array ScaleJitter::operator()(const Array& image, ExampleRandom& random) const {
  return (*this)(BoxedImage{image, {}, {}}, random).image;
}

BoxedImage ScaleJitter::operator()(const BoxedImage& boxed, ExampleRandom& random) const {
  detail::check_image(kScaleJitter, boxed.image);
  detail::check_size(kScaleJitter, size);
  const Size old = detail::size_of(boxed.image);
  detail::check_size(kScaleJitter, old);
  if (!(min_scale > 0 && min_scale <= max_scale && max_scale <= 100)) {
    throw ValueError(std::string(kScaleJitter) + ": scales are from " + general_text(min_scale) + " to " +
                     general_text(max_scale) + ": they must be positive, at most 100, and in this order");
  }
  const auto quotient = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  const double scale = random.uniform(min_scale, max_scale) *
                       std::min(quotient(size.height, old.height), quotient(size.width, old.width));
  const auto scaled = [scale](int64_t side) {
    return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(side) * scale), 1);
  };
  const Size resized(scaled(old.height), scaled(old.width));
  const Size kept(std::min(resized.height, size.height), std::min(resized.width, size.width));
  const Window window{random.integer(resized.height - kept.height + 1), random.integer(resized.width - kept.width + 1),
                      kept};
  const BoxedImage whole{Resize{resized, interpolation}(boxed.image), resize_bbox(boxed.bbox, old, resized),
                         boxed.index};
  BoxedImage part = detail::crop_boxed(whole, window, true);
  part.image = detail::on_canvas(kScaleJitter, part.image, size, 0, 0, fill);
  return part;
}

}  // namespace kusari::datasets::transforms
