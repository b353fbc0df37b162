#include "kusari/framework/datasets/transforms/resize.h"

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kResize = "transforms::Resize";

}  // namespace

Array Resize::operator()(const Array& image) const {
  detail::check_image(kResize, image);
  detail::check_size(kResize, size);
  const Size old = detail::size_of(image);
  if (old == size) return image;
  if (image.size() == 0) {
    throw ValueError(std::string(kResize) + ": the image has shape " + to_string(image.shape()) + ": it has no pixels");
  }
  return resample_image(detail::with_pixel_rows(image), size.height, size.width, interpolation);
}

Array Scale::operator()(const Array& image) const {
  detail::check_image("transforms::Scale", image);
  detail::check_size("transforms::Scale", size);
  const auto [height, width] = detail::size_of(image);
  if (image.size() == 0) return Resize{{size, size}, interpolation}(image);
  if (height < width) return Resize{{size, size * width / height}, interpolation}(image);
  return Resize{{size * height / width, size}, interpolation}(image);
}

}  // namespace kusari::datasets::transforms
