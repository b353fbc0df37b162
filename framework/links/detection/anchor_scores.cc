#include "kusari/framework/links/detection/anchor_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "kusari/framework/functions/detection/non_maximum_suppression.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::links::detail {
namespace {

bool is_better(const ScoredAnchor& a, const ScoredAnchor& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.anchor != b.anchor ? a.anchor < b.anchor : a.label < b.label;
}

/// Scores of one anchor from its row of outputs.
class RowScores {
 public:
  RowScores(const AnchorDecodeOptions& options, int64_t columns)
      : is_softmax_{options.scores == AnchorScores::softmax},
        columns_{static_cast<size_t>(columns)},
        lowest_{static_cast<float>(options.score_thresh)},
        best_only_{options.best_class_only} {
    if (is_softmax_ || !(lowest_ > 0)) return;
    // A little lower, because it only saves the exponential of most outputs.
    lowest_output_ = lowest_ < 1 ? std::log(lowest_ / (1 - lowest_)) - 0.01F : std::numeric_limits<float>::lowest();
  }

  /// The highest output of each row, where a row can be passed over by it; otherwise undefined.
  Array row_bounds(const Array& outputs) const {
    return lowest_output_ > std::numeric_limits<float>::lowest() ? xp::max(outputs, 1) : Array();
  }
  /// Whether none of a row with this bound can pass. NaN, for there is one in the row, does not tell.
  bool passes_over(float bound) const { return bound < lowest_output_; }

  void append(int64_t anchor, const float* row, std::vector<ScoredAnchor>& to) const {
    const size_t first = to.size();
    if (is_softmax_) {
      append_softmax(anchor, row, to);
    } else {
      for (size_t c = 0; c < columns_; ++c) {
        if (!(row[c] >= lowest_output_)) continue;
        const float score = 1 / (1 + std::exp(-row[c]));
        if (score >= lowest_) to.push_back({anchor, static_cast<int32_t>(c), score});
      }
    }
    if (best_only_ && to.size() > first + 1) {
      const auto begin = to.begin() + static_cast<ptrdiff_t>(first);
      *begin = *std::min_element(begin, to.end(), is_better);
      to.resize(first + 1);
    }
  }

 private:
  void append_softmax(int64_t anchor, const float* row, std::vector<ScoredAnchor>& to) const {
    const float highest = *std::max_element(row, row + columns_);
    float sum = 0;
    for (size_t c = 0; c < columns_; ++c) sum += std::exp(row[c] - highest);
    for (size_t c = 1; c < columns_; ++c) {
      const float score = std::exp(row[c] - highest) / sum;
      if (score >= lowest_) to.push_back({anchor, static_cast<int32_t>(c - 1), score});
    }
  }

  bool is_softmax_;
  size_t columns_;
  float lowest_;
  bool best_only_;
  float lowest_output_ = std::numeric_limits<float>::lowest();
};

Detections taken(const Detections& found, const std::vector<int64_t>& indices) {
  Detections result;
  for (const int64_t index : indices) {
    const auto i = static_cast<size_t>(index);
    result.bbox.push_back(found.bbox[i]);
    result.label.push_back(found.label[i]);
    result.score.push_back(found.score[i]);
  }
  return result;
}

/// Group by group, then the best of all of them.
Detections softly_suppressed(const Detections& found, const std::vector<int32_t>& groups,
                             const functions::SoftNmsOptions& options, int64_t limit) {
  std::map<int32_t, std::vector<int64_t>> members;
  for (size_t i = 0; i < groups.size(); ++i) members[groups[i]].push_back(static_cast<int64_t>(i));
  Detections kept;
  std::vector<int64_t> origin;
  for (const auto& [group, indices] : members) {
    const Detections own = taken(found, indices);
    functions::SoftNmsOptions own_options = options;
    if (limit > 0) own_options.limit = std::min(limit, options.limit.value_or(limit));
    const functions::SoftNmsResult result = functions::soft_nms(own.bbox, own.score, own_options);
    for (size_t k = 0; k < result.index.size(); ++k) {
      const auto i = static_cast<size_t>(result.index[k]);
      kept.bbox.push_back(own.bbox[i]);
      kept.label.push_back(own.label[i]);
      kept.score.push_back(result.score[k]);
      origin.push_back(indices[i]);
    }
  }
  std::vector<int64_t> order(origin.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return kept.score[i] != kept.score[j] ? kept.score[i] > kept.score[j] : origin[i] < origin[j];
  });
  if (limit > 0 && order.size() > static_cast<size_t>(limit)) order.resize(static_cast<size_t>(limit));
  return taken(kept, order);
}

}  // namespace

std::vector<ScoredAnchor> best_scores(const Array& outputs, const std::vector<int64_t>& level_counts,
                                      const AnchorDecodeOptions& options) {
  const int64_t columns = outputs.shape(1);
  const RowScores scores(options, columns);
  const Array bounds = scores.row_bounds(outputs);
  const float* const bound = bounds.is_defined() ? bounds.data<float>() : nullptr;
  const float* const rows = outputs.data<float>();
  std::vector<ScoredAnchor> all, level;
  int64_t anchor = 0;
  for (const int64_t count : level_counts) {
    level.clear();
    for (const int64_t end = anchor + count; anchor < end; ++anchor) {
      if (bound != nullptr && scores.passes_over(bound[anchor])) continue;
      scores.append(anchor, rows + anchor * columns, level);
    }
    const auto most = static_cast<size_t>(options.candidates);
    if (most > 0 && level.size() > most) {
      std::nth_element(level.begin(), level.begin() + options.candidates, level.end(), is_better);
      level.resize(most);
      std::sort(level.begin(), level.end(), [](const ScoredAnchor& a, const ScoredAnchor& b) {
        return a.anchor != b.anchor ? a.anchor < b.anchor : a.label < b.label;
      });
    }
    all.insert(all.end(), level.begin(), level.end());
  }
  return all;
}

Detections suppressed(const Detections& found, const std::vector<int32_t>& groups, const AnchorDecodeOptions& options) {
  if (options.soft_nms) return softly_suppressed(found, groups, *options.soft_nms, options.limit);
  std::optional<int64_t> limit;
  if (options.limit > 0) limit = options.limit;
  return taken(found, functions::class_wise_suppression(found.bbox, groups, options.nms_thresh, found.score, limit));
}

}  // namespace kusari::links::detail
