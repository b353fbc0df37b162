#include "kusari/framework/datasets/transforms/ten_crop.h"

#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"

namespace kusari::datasets::transforms {

Array TenCrop::operator()(const Array& image) const {
  const Window middle = CenterCrop{size}.window(image);
  const auto [height, width] = detail::size_of(image);
  const int64_t bottom = height - size.height, right = width - size.width;
  const Window windows[] = {{0, 0, size}, {0, right, size}, {bottom, 0, size}, {bottom, right, size}, middle};
  const Array out = empty_channels_last({10, image.shape()[0], size.height, size.width}, image.dtype());
  for (int64_t i = 0; i < 5; ++i) {
    const Array crop = Crop{windows[i]}(image);
    out.at(i).copy_from(crop);
    out.at(5 + i).copy_from(Flip{}(crop));
  }
  return out;
}

}  // namespace kusari::datasets::transforms
