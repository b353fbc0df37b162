#include "kusari/framework/datasets/transforms/random_sized_crop.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kRandomSizedCrop = "transforms::RandomSizedCrop";
constexpr int kTries = 10;

void check_range(const char* argument, const Range& range) {
  if (range.low > 0 && range.low <= range.high && std::isfinite(range.high)) return;
  throw ValueError(std::string(kRandomSizedCrop) + ": " + argument + " is " + general_text(range.low) + " .. " +
                   general_text(range.high) + ": it must ascend from a positive number");
}

int64_t round(double value) { return std::max<int64_t>(1, std::llround(value)); }

}  // namespace

Window RandomSizedCrop::window(const Array& image, ExampleRandom& random) const {
  detail::check_image(kRandomSizedCrop, image);
  return window(detail::size_of(image), random);
}

Window RandomSizedCrop::window(const Size& image, ExampleRandom& random) const {
  detail::check_size(kRandomSizedCrop, size);
  check_range("scale", scale);
  check_range("aspect_ratio", aspect_ratio);
  const auto [height, width] = image;
  if (height < 1 || width < 1) {
    throw ValueError(std::string(kRandomSizedCrop) + ": the image has size " + to_string(image) + ": it has no pixels");
  }
  const auto rows = static_cast<double>(height), columns = static_cast<double>(width);
  for (int k = 0; k < kTries; ++k) {
    const double area = rows * columns * random.uniform(scale.low, scale.high);
    const double ratio = std::exp(random.uniform(std::log(aspect_ratio.low), std::log(aspect_ratio.high)));
    const double h = std::sqrt(area / ratio), w = std::sqrt(area * ratio);
    if (h >= rows + 0.5 || w >= columns + 0.5) continue;
    const Size part(std::min(round(h), height), std::min(round(w), width));
    return RandomCrop{part}.window(image, random);
  }
  const double ratio = std::clamp(columns / rows, aspect_ratio.low, aspect_ratio.high);
  const Size part(std::min(height, round(columns / ratio)), std::min(width, round(rows * ratio)));
  return CenterCrop{part}.window(image);
}

}  // namespace kusari::datasets::transforms
