#include "kusari/framework/datasets/transforms/resize_contain.h"

#include <algorithm>

#include "kusari/framework/datasets/transforms/canvas.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kResizeContain = "transforms::ResizeContain";

}  // namespace

Window ResizeContain::place(const Size& image) const {
  detail::check_size(kResizeContain, size);
  detail::check_size(kResizeContain, image);
  const auto quotient = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  double scale = std::min(quotient(size.height, image.height), quotient(size.width, image.width));
  if (!enlarge) scale = std::min(scale, 1.0);
  const auto scaled = [scale](int64_t side, int64_t most) {
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(side) * scale), 1, most);
  };
  const Size inner(scaled(image.height, size.height), scaled(image.width, size.width));
  if (!centre) return {0, 0, inner};
  return {(size.height - inner.height) / 2, (size.width - inner.width) / 2, inner};
}

Array ResizeContain::operator()(const Array& image) const { return (*this)(BoxedImage{image, {}, {}}).image; }

BoxedImage ResizeContain::operator()(const BoxedImage& boxed) const {
  detail::check_image(kResizeContain, boxed.image);
  const Size old = detail::size_of(boxed.image);
  const Window window = place(old);
  const Array resized = Resize{window.size, interpolation}(boxed.image);
  return {detail::on_canvas(kResizeContain, resized, size, window.top, window.left, fill),
          translate_bbox(resize_bbox(boxed.bbox, old, window.size), static_cast<double>(window.top),
                         static_cast<double>(window.left)),
          boxed.index};
}

}  // namespace kusari::datasets::transforms
