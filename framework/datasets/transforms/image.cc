#include "kusari/framework/datasets/transforms/image.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {

std::string to_string(const Size& size) { return std::to_string(size.height) + " x " + std::to_string(size.width); }

Array empty_image(int64_t channels, const Size& size, Dtype dtype) {
  return empty_strided({channels, size.height, size.width}, {1, size.width * channels, channels}, dtype);
}

namespace detail {

void check_image(const char* call, const Array& image) {
  const std::string prefix = std::string(call) + ": the image ";
  if (!image.is_defined()) throw TypeError(prefix + "is an undefined array");
  if (image.ndim() != 3) {
    throw TypeError(prefix + "has shape " + to_string(image.shape()) + ": it must be (channels, height, width)");
  }
  if (image.dtype() != Dtype::uint8 && image.dtype() != Dtype::float32) {
    throw TypeError(prefix + "has dtype " + name(image.dtype()) + ": it must be uint8 or float32");
  }
  if (!image.device().is_cpu()) throw TypeError(prefix + "is on " + image.device().name() + ": it must be on the CPU");
}

Array with_pixel_rows(const Array& image) {
  const int64_t channels = image.shape()[0];
  const Strides& strides = image.strides();
  if ((strides[0] == 1 || channels == 1) && (strides[2] == channels || image.shape()[2] == 1)) return image;
  const Array rows = empty_image(channels, size_of(image), image.dtype());
  rows.copy_from(image);
  return rows;
}

void check_size(const char* call, const Size& size) {
  if (size.height < 1 || size.width < 1) {
    throw ValueError(std::string(call) + ": size is " + to_string(size) + ", both sides must be at least 1");
  }
}

void check_pixel(const char* call, const char* argument, double value, Dtype dtype) {
  if (dtype != Dtype::uint8) return;
  argument::require(value >= 0 && value <= 255, call, argument, value, "be in [0, 255] for images of uint8");
}

}  // namespace detail
}  // namespace kusari::datasets::transforms
