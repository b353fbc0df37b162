#include "kusari/framework/functions/detection/soft_nms.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/detection/bbox_iou.h"

namespace kusari::functions {

SoftNmsResult soft_nms(std::span<const Box> bbox, std::span<const float> score, const SoftNmsOptions& options) {
  const char* const call = "F::soft_nms";
  if (score.size() != bbox.size()) {
    throw ValueError(std::string(call) + ": score has " + std::to_string(score.size()) + " numbers and bbox " +
                     std::to_string(bbox.size()) + " boxes: there must be as many");
  }
  argument::finite_positive(call, "sigma", options.sigma);
  argument::not_nan(call, "thresh", options.thresh);
  argument::not_nan(call, "score_thresh", options.score_thresh);
  if (options.limit) argument::not_negative(call, "limit", *options.limit);

  struct Candidate {
    Box box;
    float score;
    int64_t index;
  };
  const auto lowest = static_cast<float>(options.score_thresh);
  std::vector<Candidate> left;
  for (size_t i = 0; i < bbox.size(); ++i) {
    if (score[i] > lowest) left.push_back({bbox[i], score[i], static_cast<int64_t>(i)});
  }
  SoftNmsResult result;
  while (!left.empty()) {
    if (options.limit && static_cast<int64_t>(result.index.size()) >= *options.limit) break;
    const auto best = std::max_element(left.begin(), left.end(), [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score < b.score : a.index > b.index;
    });
    const Candidate chosen = *best;
    *best = left.back();
    left.pop_back();
    result.index.push_back(chosen.index);
    result.score.push_back(chosen.score);
    for (Candidate& other : left) {
      const float u = bbox_iou(chosen.box, other.box);
      if (u == 0) continue;
      if (options.decay == SoftNmsDecay::gaussian) {
        other.score *= std::exp(-u * u / static_cast<float>(options.sigma));
      } else if (u >= static_cast<float>(options.thresh)) {
        other.score *= 1 - u;
      }
    }
    std::erase_if(left, [&](const Candidate& other) { return !(other.score > lowest); });
  }
  return result;
}

}  // namespace kusari::functions
