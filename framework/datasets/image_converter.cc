#include "kusari/framework/datasets/image_converter.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/kernels/image_batch.h"

namespace kusari::datasets {
namespace {

bool is_image_batch(const Array& array) { return array.dtype() == Dtype::uint8 && array.ndim() == 4; }

double of_channel(const std::vector<double>& values, int64_t channel) {
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
}

void check_count(const char* option, const std::vector<double>& values, const Shape& shape) {
  if (values.size() == 1 || static_cast<int64_t>(values.size()) == shape[1]) return;
  throw ValueError(std::string("image_converter: ") + option + " has " + std::to_string(values.size()) +
                   " numbers but the batch has shape " + to_string(shape) + ": it must have 1 or one for each channel");
}

Array normalize(const Array& x, const Array& mirrored, const ImageConverterOptions& options) {
  check_count("mean", options.mean, x.shape());
  check_count("deviation", options.deviation, x.shape());
  const Array y = empty_channels_last(x.shape(), get_dtype(), x.device());
  constexpr int64_t kMost = kernels::ChannelScales::kMaxChannels;
  for (int64_t first = 0; first < x.shape()[1]; first += kMost) {
    const int64_t count = std::min(kMost, x.shape()[1] - first);
    kernels::ChannelScales scales;
    for (int64_t c = 0; c < count; ++c) {
      scales.mean[c] = of_channel(options.mean, first + c);
      scales.scale[c] = 1 / of_channel(options.deviation, first + c);
    }
    const bool all = count == x.shape()[1];
    launch<kernels::NormalizeImages>(x.device(), scales, all ? x : x.slice(1, first, count), mirrored,
                                     all ? y : y.slice(1, first, count));
  }
  return y;
}

/// One byte an example: 1 for those to be mirrored.
Array draw_flips(int64_t n, const Device& device) {
  const Array flips = empty_pinned({n}, Dtype::uint8, device);
  for (int64_t i = 0; i < n; ++i) flips.data<uint8_t>()[i] = ExampleRandomScope::stream(i).chance(0.5) ? 1 : 0;
  return flips.to_device_beside(device);
}

}  // namespace

Converter image_converter(ImageConverterOptions options) {
  for (double deviation : options.deviation) {
    if (deviation == 0) throw ValueError("image_converter: a deviation is 0, it must not be");
  }
  const Converter concat = concat_converter(options.padding);
  const auto shared = std::make_shared<const ImageConverterOptions>(std::move(options));
  return Converter(
      [shared, concat](std::span<const Example> batch, const Device& device) {
        Example uploaded = concat.upload(batch, device);
        if (shared->random_flip) uploaded.push_back(draw_flips(static_cast<int64_t>(batch.size()), device));
        return uploaded;
      },
      [shared, concat](Example uploaded) {
        Array mirrored;
        if (shared->random_flip) {
          mirrored = uploaded.end()[-1];
          uploaded.pop_back();
        }
        Example result = concat.finish(std::move(uploaded));
        for (Array& component : result) {
          if (is_image_batch(component)) component = normalize(component, mirrored, *shared);
        }
        return result;
      });
}

}  // namespace kusari::datasets
