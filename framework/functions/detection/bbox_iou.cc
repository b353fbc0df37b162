#include "kusari/framework/functions/detection/bbox_iou.h"

namespace kusari::functions {

std::vector<float> bbox_iou(std::span<const Box> a, std::span<const Box> b) {
  std::vector<float> iou;
  iou.reserve(a.size() * b.size());
  for (const Box& first : a) {
    for (const Box& second : b) iou.push_back(bbox_iou(first, second));
  }
  return iou;
}

}  // namespace kusari::functions
