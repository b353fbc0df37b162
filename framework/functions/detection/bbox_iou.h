#pragma once

#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::functions {

/// The area that two boxes share, as a part of the area that they cover; 0 where they share none. In float32.
inline float bbox_iou(const Box& a, const Box& b) noexcept {
  const float height = (a.y_max < b.y_max ? a.y_max : b.y_max) - (a.y_min < b.y_min ? b.y_min : a.y_min);
  const float width = (a.x_max < b.x_max ? a.x_max : b.x_max) - (a.x_min < b.x_min ? b.x_min : a.x_min);
  if (!(height > 0 && width > 0)) return 0;
  const float shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

/// The same of each box of `a` with each of `b`: element n * b.size() + k is that of a[n] and b[k].
/// chainercv.utils.bbox_iou.
KUSARI_API std::vector<float> bbox_iou(std::span<const Box> a, std::span<const Box> b);

}  // namespace kusari::functions
