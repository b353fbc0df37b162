#include "kusari/framework/training/detection/eval_detection_voc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/framework/training/detection/check_lists.h"

namespace kusari::metrics {
namespace {

constexpr double kNoClass = std::numeric_limits<double>::quiet_NaN();

enum class Outcome : uint8_t { wrong, right, difficult };

struct Scored {
  float score;
  Outcome outcome;
};

/// A class over all images.
struct ClassRecord {
  std::vector<Scored> found;
  int64_t to_find = 0;
};

Box a_pixel_larger(Box box) {
  box.y_max += 1;
  box.x_max += 1;
  return box;
}

/// The detections of one class in one image, best first.
void compare(const std::vector<size_t>& found, const Detections& detections, const std::vector<size_t>& boxes,
             const GroundTruth& truth, float iou_thresh, ClassRecord& record) {
  std::vector<uint8_t> is_taken(boxes.size());
  for (const size_t d : found) {
    const Box box = a_pixel_larger(detections.bbox[d]);
    float highest = -1;
    size_t best = 0;
    for (size_t g = 0; g < boxes.size(); ++g) {
      const float iou = functions::bbox_iou(box, a_pixel_larger(truth.bbox[boxes[g]]));
      if (iou > highest) highest = iou, best = g;
    }
    Outcome outcome = Outcome::wrong;
    if (!boxes.empty() && highest >= iou_thresh) {
      const bool is_difficult = !truth.difficult.empty() && truth.difficult[boxes[best]] != 0;
      if (is_difficult) {
        outcome = Outcome::difficult;
      } else if (is_taken[best] == 0) {
        outcome = Outcome::right;
      }
      is_taken[best] = 1;
    }
    record.found.push_back({detections.score[d], outcome});
  }
}

struct Curve {
  std::vector<double> precision, recall;
};

Curve curve_of(ClassRecord& record) {
  std::stable_sort(record.found.begin(), record.found.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  Curve curve;
  double right = 0, wrong = 0;
  for (const Scored& found : record.found) {
    right += found.outcome == Outcome::right;
    wrong += found.outcome == Outcome::wrong;
    curve.precision.push_back(right + wrong > 0 ? right / (right + wrong) : 0);
    curve.recall.push_back(right / static_cast<double>(record.to_find));
  }
  return curve;
}

double mean_of_eleven(const Curve& curve) {
  double sum = 0;
  for (int i = 0; i <= 10; ++i) {
    double best = 0;
    for (size_t k = 0; k < curve.recall.size(); ++k) {
      if (curve.recall[k] >= i * 0.1) best = std::max(best, curve.precision[k]);
    }
    sum += best / 11;
  }
  return sum;
}

double area_below(Curve curve) {
  for (size_t k = curve.precision.size(); k-- > 1;) {
    curve.precision[k - 1] = std::max(curve.precision[k - 1], curve.precision[k]);
  }
  double sum = 0, reached = 0;
  for (size_t k = 0; k < curve.recall.size(); ++k) {
    sum += (curve.recall[k] - reached) * curve.precision[k];
    reached = curve.recall[k];
  }
  return sum;
}

}  // namespace

VocMetrics eval_detection_voc(std::span<const Detections> found, std::span<const GroundTruth> truth,
                              const VocEvaluationOptions& options) {
  const char* const call = "eval_detection_voc";
  detail::check_lists(call, found, truth);
  argument::require(options.iou_thresh > 0 && options.iou_thresh <= 1, call, "iou_thresh", options.iou_thresh,
                    "be in (0, 1]");
  std::map<int32_t, ClassRecord> records;
  for (size_t i = 0; i < found.size(); ++i) {
    std::map<int32_t, std::pair<std::vector<size_t>, std::vector<size_t>>> classes;  // detections and boxes of each
    for (size_t d = 0; d < found[i].label.size(); ++d) classes[found[i].label[d]].first.push_back(d);
    for (size_t g = 0; g < truth[i].label.size(); ++g) classes[truth[i].label[g]].second.push_back(g);
    for (auto& [label, members] : classes) {
      auto& [detections, boxes] = members;
      ClassRecord& record = records[label];
      std::stable_sort(detections.begin(), detections.end(),
                       [&](size_t a, size_t b) { return found[i].score[a] > found[i].score[b]; });
      for (const size_t g : boxes) record.to_find += truth[i].difficult.empty() || truth[i].difficult[g] == 0;
      compare(detections, found[i], boxes, truth[i], static_cast<float>(options.iou_thresh), record);
    }
  }
  VocMetrics metrics{
      std::vector<double>(records.empty() ? 0 : static_cast<size_t>(records.rbegin()->first) + 1, kNoClass), kNoClass};
  double sum = 0;
  int64_t count = 0;
  for (auto& [label, record] : records) {
    if (record.to_find == 0) continue;
    const Curve curve = curve_of(record);
    const double ap = options.use_07_metric ? mean_of_eleven(curve) : area_below(curve);
    metrics.ap[static_cast<size_t>(label)] = ap;
    sum += ap;
    ++count;
  }
  if (count > 0) metrics.map = sum / static_cast<double>(count);
  return metrics;
}

}  // namespace kusari::metrics
