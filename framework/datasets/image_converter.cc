#include "kusari/framework/datasets/image_converter.h"

#include <utility>

#include "kusari/framework/core/config.h"

namespace kusari::datasets {
namespace {

/// The batch as one image, its pictures one below the other: a view of a channels-last batch.
Array normalize_batch(const Array& x, const transforms::Normalize& normalize) {
  const Shape& shape = x.shape();
  const int64_t n = shape[0], channels = shape[1], height = shape[2], width = shape[3];
  const Array strip = normalize(x.transpose({1, 0, 2, 3}).reshape({channels, n * height, width}));
  const Array y = strip.reshape({channels, n, height, width}).transpose({1, 0, 2, 3});
  return (config().channels_last ? y.channels_last() : y.contiguous()).astype(get_dtype());
}

}  // namespace

Converter image_converter(transforms::Normalize normalize) {
  return [normalize = std::move(normalize)](std::span<const Example> batch, const Device& device) {
    Example result = concat_examples(batch);
    for (Array& component : result) {
      if (component.dtype() == Dtype::uint8 && component.ndim() == 4) component = normalize_batch(component, normalize);
      component = component.to_device(device);
    }
    return result;
  };
}

}  // namespace kusari::datasets
