#include "kusari/framework/datasets/transforms/random_box_crop.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/detection/bbox_iou.h"

namespace kusari::datasets::transforms {
namespace {

const char* const kBoxCrop = "transforms::RandomBoxCrop";

bool shows_enough(const Window& window, const std::vector<Box>& bbox, const std::array<double, 2>& constraint) {
  const Box shown{static_cast<float>(window.top), static_cast<float>(window.left),
                  static_cast<float>(window.top + window.size.height),
                  static_cast<float>(window.left + window.size.width)};
  return std::all_of(bbox.begin(), bbox.end(), [&](const Box& box) {
    const double iou = functions::bbox_iou(box, shown);
    return iou >= constraint[0] && iou <= constraint[1];
  });
}

}  // namespace

Window RandomBoxCrop::window(const BoxedImage& boxed, ExampleRandom& random) const {
  detail::check_image(kBoxCrop, boxed.image);
  argument::require(min_scale > 0 && min_scale <= max_scale, kBoxCrop, "min_scale", min_scale, "be in (0, max_scale]");
  argument::require(max_scale <= 1, kBoxCrop, "max_scale", max_scale, "be at most 1");
  argument::require(max_aspect_ratio >= 1 && std::isfinite(max_aspect_ratio), kBoxCrop, "max_aspect_ratio",
                    max_aspect_ratio, "be finite and at least 1");
  argument::not_negative(kBoxCrop, "max_trial", max_trial);
  const Size size = detail::size_of(boxed.image);
  std::vector<Window> found = {{0, 0, size}};
  if (boxed.bbox.empty()) return found[0];
  for (const std::array<double, 2>& constraint : constraints) {
    for (int64_t trial = 0; trial < max_trial; ++trial) {
      const double scale = random.uniform(min_scale, max_scale);
      const double ratio = random.uniform(std::max(1 / max_aspect_ratio, scale * scale),
                                          std::min(max_aspect_ratio, 1 / (scale * scale)));
      const auto side = [](int64_t whole, double part) {
        return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(whole) * part), 1, whole);
      };
      const Size cropped(side(size.height, scale / std::sqrt(ratio)), side(size.width, scale * std::sqrt(ratio)));
      const Window window{random.integer(size.height - cropped.height + 1),
                          random.integer(size.width - cropped.width + 1), cropped};
      if (!shows_enough(window, boxed.bbox, constraint)) continue;
      found.push_back(window);
      break;
    }
  }
  return found[static_cast<size_t>(random.integer(static_cast<int64_t>(found.size())))];
}

BoxedImage RandomBoxCrop::operator()(const BoxedImage& boxed, ExampleRandom& random) const {
  const Window chosen = window(boxed, random);
  if (boxed.bbox.empty()) return boxed;
  return detail::crop_boxed(boxed, chosen, false);
}

}  // namespace kusari::datasets::transforms
