#include "kusari/framework/datasets/transforms/crop.h"

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

/// Throws unless a crop of `size` fits into the image.
void check_fits(const char* call, const Array& image, const Size& size) {
  detail::check_image(call, image);
  detail::check_size(call, size);
  if (size.height > image.shape()[1] || size.width > image.shape()[2]) {
    throw ValueError(std::string(call) + ": size is " + to_string(size) + " but the image is only " +
                     to_string(detail::size_of(image)));
  }
}

}  // namespace

Array Crop::operator()(const Array& image) const {
  check_fits("transforms::Crop", image, window.size);
  const auto& [top, left, size] = window;
  if (top < 0 || left < 0 || top > image.shape()[1] - size.height || left > image.shape()[2] - size.width) {
    throw ValueError("transforms::Crop: a window of " + to_string(size) + " at (" + std::to_string(top) + ", " +
                     std::to_string(left) + ") reaches outside an image of " + to_string(detail::size_of(image)));
  }
  return image.slice(1, top, size.height).slice(2, left, size.width);
}

Window CenterCrop::window(const Array& image) const {
  check_fits("transforms::CenterCrop", image, size);
  return {(image.shape()[1] - size.height) / 2, (image.shape()[2] - size.width) / 2, size};
}

Window RandomCrop::window(const Array& image, ExampleRandom& random) const {
  check_fits("transforms::RandomCrop", image, size);
  const int64_t top = random.integer(image.shape()[1] - size.height + 1);
  const int64_t left = random.integer(image.shape()[2] - size.width + 1);
  return {top, left, size};
}

}  // namespace kusari::datasets::transforms
