#include "kusari/framework/training/detection/check_lists.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::metrics::detail {

void check_lists(const char* call, std::span<const Detections> found, std::span<const GroundTruth> truth) {
  const std::string prefix = std::string(call) + ": ";
  if (found.size() != truth.size()) {
    throw ValueError(prefix + "found has " + std::to_string(found.size()) + " images and truth " +
                     std::to_string(truth.size()) + ": there must be as many");
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const auto expect_length = [&](const char* list, size_t length, size_t boxes) {
      if (length == boxes) return;
      throw ValueError(prefix + list + " of image " + std::to_string(i) + " has " + std::to_string(length) +
                       " entries for " + std::to_string(boxes) + " boxes");
    };
    const auto expect_labels = [&](const char* list, const std::vector<int32_t>& labels) {
      if (std::all_of(labels.begin(), labels.end(), [](int32_t label) { return label >= 0; })) return;
      throw ValueError(prefix + list + " of image " + std::to_string(i) + " has a negative class");
    };
    const size_t boxes = truth[i].bbox.size();
    expect_length("found.label", found[i].label.size(), found[i].bbox.size());
    expect_length("found.score", found[i].score.size(), found[i].bbox.size());
    expect_length("truth.label", truth[i].label.size(), boxes);
    if (!truth[i].difficult.empty()) expect_length("truth.difficult", truth[i].difficult.size(), boxes);
    if (!truth[i].area.empty()) expect_length("truth.area", truth[i].area.size(), boxes);
    if (!truth[i].crowded.empty()) expect_length("truth.crowded", truth[i].crowded.size(), boxes);
    expect_labels("found.label", found[i].label);
    expect_labels("truth.label", truth[i].label);
    if (std::any_of(found[i].score.begin(), found[i].score.end(), [](float score) { return std::isnan(score); })) {
      throw ValueError(prefix + "found.score of image " + std::to_string(i) + " has a NaN");
    }
  }
}

}  // namespace kusari::metrics::detail
