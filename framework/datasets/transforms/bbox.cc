#include "kusari/framework/datasets/transforms/bbox.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::datasets::transforms {

std::vector<Box> flip_bbox(std::span<const Box> bbox, const Size& size, const Flip& flip) {
  const auto height = static_cast<float>(size.height), width = static_cast<float>(size.width);
  std::vector<Box> result;
  result.reserve(bbox.size());
  for (Box box : bbox) {
    if (flip.vertical) box = {height - box.y_max, box.x_min, height - box.y_min, box.x_max};
    if (flip.horizontal) box = {box.y_min, width - box.x_max, box.y_max, width - box.x_min};
    result.push_back(box);
  }
  return result;
}

std::vector<Box> resize_bbox(std::span<const Box> bbox, const Size& from, const Size& to) {
  detail::check_size("transforms::resize_bbox", from);
  detail::check_size("transforms::resize_bbox", to);
  const double y = static_cast<double>(to.height) / static_cast<double>(from.height);
  const double x = static_cast<double>(to.width) / static_cast<double>(from.width);
  const auto scaled = [](double scale, float value) { return static_cast<float>(scale * static_cast<double>(value)); };
  std::vector<Box> result;
  result.reserve(bbox.size());
  for (const Box& box : bbox) {
    result.push_back({scaled(y, box.y_min), scaled(x, box.x_min), scaled(y, box.y_max), scaled(x, box.x_max)});
  }
  return result;
}

std::vector<Box> translate_bbox(std::span<const Box> bbox, double y_offset, double x_offset) {
  const auto y = static_cast<float>(y_offset), x = static_cast<float>(x_offset);
  std::vector<Box> result;
  result.reserve(bbox.size());
  for (const Box& box : bbox) result.push_back({box.y_min + y, box.x_min + x, box.y_max + y, box.x_max + x});
  return result;
}

KeptBoxes crop_bbox(std::span<const Box> bbox, const Window& window, bool allow_outside_center) {
  const auto top = static_cast<float>(window.top), left = static_cast<float>(window.left),
             bottom = static_cast<float>(window.top + window.size.height),
             right = static_cast<float>(window.left + window.size.width);
  KeptBoxes kept;
  for (size_t i = 0; i < bbox.size(); ++i) {
    const Box& box = bbox[i];
    if (!allow_outside_center) {
      const float y = (box.y_min + box.y_max) / 2, x = (box.x_min + box.x_max) / 2;
      if (!(y >= top && y < bottom && x >= left && x < right)) continue;
    }
    const Box part{std::max(box.y_min, top) - top, std::max(box.x_min, left) - left, std::min(box.y_max, bottom) - top,
                   std::min(box.x_max, right) - left};
    if (!(part.height() > 0 && part.width() > 0)) continue;
    kept.bbox.push_back(part);
    kept.index.push_back(static_cast<int64_t>(i));
  }
  return kept;
}

BoxedImage detail::crop_boxed(const BoxedImage& boxed, const Window& window, bool allow_outside_center) {
  if (boxed.index.size() != boxed.bbox.size()) {
    throw ValueError("transforms: the image has " + std::to_string(boxed.bbox.size()) + " boxes but index has " +
                     std::to_string(boxed.index.size()) + ": it must have one for each");
  }
  KeptBoxes kept = crop_bbox(boxed.bbox, window, allow_outside_center);
  BoxedImage result{Crop{window}(boxed.image), std::move(kept.bbox), {}};
  for (const int64_t i : kept.index) result.index.push_back(boxed.index[static_cast<size_t>(i)]);
  return result;
}

}  // namespace kusari::datasets::transforms
