#include "kusari/framework/links/model/image_preparation.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/kernels/image_resampling.h"
#include "kusari/framework/links/model/rgb_bytes.h"

namespace kusari::links {

Array prepare(const Array& image, const ImagePreparation& preparation, const std::optional<PerAxis>& size) {
  Array picture = rgb_bytes("prepare", image);
  if (size) {
    const Dims sizes = size->resolve(2, "prepare", "size");
    if (sizes[0] < 1 || sizes[1] < 1)
      throw ValueError("prepare: size is " + to_string(sizes) + ": it must be positive");
    if (sizes[0] != picture.shape(1) || sizes[1] != picture.shape(2)) {
      picture = resample_image(picture, sizes[0], sizes[1], Interpolation::bicubic);
    }
  }
  const uint8_t* const bytes = picture.data<uint8_t>();
  std::vector<float> values = host_vector<float>({picture.size()}, "prepare");
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t pixel = i / 3, channel = i % 3;
    const double byte = bytes[pixel * 3 + (preparation.bgr ? 2 - channel : channel)];
    values[i] = static_cast<float>((byte - preparation.mean[channel]) / preparation.deviation[channel]);
  }
  return array(values, {picture.shape(1), picture.shape(2), 3}).transpose({2, 0, 1}).astype(get_dtype());
}

}  // namespace kusari::links
