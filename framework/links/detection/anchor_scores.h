#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/functions/detection/box.h"
#include "kusari/framework/links/detection/anchor_coder.h"

namespace kusari::links::detail {

/// A class that an anchor is said to show.
struct ScoredAnchor {
  int64_t anchor;
  int32_t label;
  float score;
};

/// Those of a network's outputs, (anchors, columns) of float32, contiguous, that options.score_thresh, .best_class_only
/// and .candidates let pass, in the order of the anchors. level_counts: the anchors of each level.
std::vector<ScoredAnchor> best_scores(const Array& outputs, const std::vector<int64_t>& level_counts,
                                      const AnchorDecodeOptions& options);

/// What is left of detections when of those of one group that lie on each other the best remain, best first, .limit of
/// them.
Detections suppressed(const Detections& found, const std::vector<int32_t>& groups, const AnchorDecodeOptions& options);

}  // namespace kusari::links::detail
