#include "kusari/framework/functions/detection/non_maximum_suppression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/detection/bbox_iou.h"

namespace kusari::functions {
namespace {

void check_suppression(const char* call, size_t boxes, size_t scores, double thresh, std::optional<int64_t> limit) {
  argument::not_nan(call, "thresh", thresh);
  if (limit) argument::not_negative(call, "limit", *limit);
  if (scores != 0 && scores != boxes) {
    throw ValueError(std::string(call) + ": score has " + std::to_string(scores) + " numbers and bbox " +
                     std::to_string(boxes) + " boxes: there must be as many");
  }
}

/// The indices by falling score.
std::vector<int64_t> ranked(size_t boxes, std::span<const float> score) {
  std::vector<int64_t> order;
  order.reserve(boxes);
  for (size_t i = 0; i < boxes; ++i) {
    if (score.empty() || !std::isnan(score[i])) order.push_back(static_cast<int64_t>(i));
  }
  if (!score.empty()) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return score[static_cast<size_t>(a)] > score[static_cast<size_t>(b)];
    });
  }
  return order;
}

}  // namespace

std::vector<int64_t> non_maximum_suppression(std::span<const Box> bbox, double thresh, std::span<const float> score,
                                             std::optional<int64_t> limit) {
  check_suppression("F::non_maximum_suppression", bbox.size(), score.size(), thresh, limit);
  const auto most = static_cast<size_t>(limit.value_or(std::numeric_limits<int64_t>::max()));
  const auto highest = static_cast<float>(thresh);
  std::vector<int64_t> kept;
  std::vector<Box> kept_boxes;
  for (const int64_t i : ranked(bbox.size(), score)) {
    if (kept.size() >= most) break;
    const Box& box = bbox[static_cast<size_t>(i)];
    if (std::any_of(kept_boxes.begin(), kept_boxes.end(),
                    [&](const Box& other) { return bbox_iou(box, other) >= highest; })) {
      continue;
    }
    kept.push_back(i);
    kept_boxes.push_back(box);
  }
  return kept;
}

std::vector<int64_t> class_wise_suppression(std::span<const Box> bbox, std::span<const int32_t> label, double thresh,
                                            std::span<const float> score, std::optional<int64_t> limit) {
  const char* const call = "F::class_wise_suppression";
  check_suppression(call, bbox.size(), score.size(), thresh, limit);
  if (label.size() != bbox.size()) {
    throw ValueError(std::string(call) + ": label has " + std::to_string(label.size()) + " numbers and bbox " +
                     std::to_string(bbox.size()) + " boxes: there must be as many");
  }
  const auto most = static_cast<size_t>(limit.value_or(std::numeric_limits<int64_t>::max()));
  const auto highest = static_cast<float>(thresh);
  std::vector<int64_t> kept;
  std::unordered_map<int32_t, std::vector<Box>> kept_boxes;  // of each class
  for (const int64_t i : ranked(bbox.size(), score)) {
    if (kept.size() >= most) break;
    const Box& box = bbox[static_cast<size_t>(i)];
    std::vector<Box>& others = kept_boxes[label[static_cast<size_t>(i)]];
    if (std::any_of(others.begin(), others.end(), [&](const Box& other) { return bbox_iou(box, other) >= highest; })) {
      continue;
    }
    kept.push_back(i);
    others.push_back(box);
  }
  return kept;
}

}  // namespace kusari::functions
