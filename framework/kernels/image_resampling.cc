#include "kusari/framework/kernels/image_resampling.h"

#include "kusari/framework/kernels/image_resampling_kernels.h"

namespace kusari {

Array resample_image(const Array& image, int64_t height, int64_t width, Interpolation interpolation) {
  const int64_t channels = image.shape()[0];
  const Shape shape{channels, height, width};
  checked_numel(shape, itemsize(image.dtype()), "resample_image");
  const Array result = empty_strided(shape, {1, width * channels, channels}, image.dtype());
  launch<kernels::ResampleImage>(image.device(), interpolation, image, result);
  return result;
}

}  // namespace kusari
