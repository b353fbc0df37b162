#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/links/detection/anchor_coder.h"

namespace kusari::links::detail {

/// Anchors by coordinate, so that loops over them run on vectors.
class AnchorColumns {
 public:
  explicit AnchorColumns(std::span<const Box> anchors);
  size_t size() const { return y_min_.size(); }
  /// The IoU of a box with each anchor, as F::bbox_iou has it.
  void iou(const Box& box, std::span<float> result) const;

 private:
  std::vector<float> y_min_, x_min_, y_max_, x_max_, area_;
};

struct AnchorMatch {
  std::vector<int32_t> box;  ///< of each anchor: the index of its box, kBackgroundAnchor or kIgnoredAnchor
  int64_t positives = 0;
};

struct MatchRule {
  AnchorMatching matching;
  float positive, negative;
  int64_t samples;
  double positive_share;
};

/// `inside`: whether each anchor lies in the image; empty where that does not matter.
AnchorMatch match_anchors(const AnchorColumns& anchors, std::span<const Box> bbox, const MatchRule& rule,
                          const std::vector<bool>& inside);

}  // namespace kusari::links::detail
