#include "kusari/framework/datasets/transforms/crop.h"

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kCenterCrop = "transforms::CenterCrop";
const char* const kRandomCrop = "transforms::RandomCrop";

/// Throws unless a crop of `size` fits into an image of size `image`.
void check_fits(const char* call, const Size& image, const Size& size) {
  detail::check_size(call, size);
  if (size.height > image.height || size.width > image.width) {
    throw ValueError(std::string(call) + ": size is " + to_string(size) + " but the image is only " + to_string(image));
  }
}

Size checked_size(const char* call, const Array& image) {
  detail::check_image(call, image);
  return detail::size_of(image);
}

}  // namespace

namespace detail {

void check_window(const char* call, const Window& window, const Size& image) {
  const auto& [top, left, size] = window;
  check_fits(call, image, size);
  if (top < 0 || left < 0 || top > image.height - size.height || left > image.width - size.width) {
    throw ValueError(std::string(call) + ": a window of " + to_string(size) + " at (" + std::to_string(top) + ", " +
                     std::to_string(left) + ") reaches outside an image of " + to_string(image));
  }
}

}  // namespace detail

Array Crop::operator()(const Array& image) const {
  detail::check_window("transforms::Crop", window, checked_size("transforms::Crop", image));
  return image.slice(1, window.top, window.size.height).slice(2, window.left, window.size.width);
}

Window CenterCrop::window(const Array& image) const { return window(checked_size(kCenterCrop, image)); }

Window CenterCrop::window(const Size& image) const {
  check_fits(kCenterCrop, image, size);
  return {(image.height - size.height) / 2, (image.width - size.width) / 2, size};
}

Window RandomCrop::window(const Array& image, ExampleRandom& random) const {
  return window(checked_size(kRandomCrop, image), random);
}

Window RandomCrop::window(const Size& image, ExampleRandom& random) const {
  check_fits(kRandomCrop, image, size);
  const int64_t top = random.integer(image.height - size.height + 1);
  const int64_t left = random.integer(image.width - size.width + 1);
  return {top, left, size};
}

}  // namespace kusari::datasets::transforms
