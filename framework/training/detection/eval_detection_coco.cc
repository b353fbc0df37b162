#include "kusari/framework/training/detection/eval_detection_coco.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/training/detection/check_lists.h"

// pycocotools/cocoeval.py and common/maskApi.c of https://github.com/cocodataset/cocoapi
namespace kusari::metrics {
namespace {

constexpr size_t kThresholds = 10, kRecalls = 101, kAreas = 4, kMostFound = 100;
constexpr std::array<size_t, 3> kLimits = {1, 10, 100};
constexpr std::array<std::pair<double, double>, kAreas> kAreaRanges = {
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};
constexpr double kNothing = -1;

/// numpy.linspace(0.5, 0.95, 10)
double threshold(size_t i) { return 0.5 + static_cast<double>(i) * ((0.95 - 0.5) / 9); }

/// What a category has in an image.
struct Cell {
  std::vector<const CocoAnnotation*> truth;
  std::vector<const CocoResult*> found;
};
using Cells = std::map<int64_t, Cell>;  // by image

enum class Verdict : uint8_t { miss, hit, ignored };

/// A detection, judged for each area and threshold.
struct Judged {
  double score;
  size_t rank;  // in its image
  std::array<std::array<Verdict, kThresholds>, kAreas> verdict;
};

/// A category over all images.
struct Judgement {
  std::vector<Judged> found;
  std::array<int64_t, kAreas> to_find = {};
};

double iou_of(const CocoResult& d, const CocoAnnotation& g) {
  const double width = std::fmin(d.width + d.x, g.width + g.x) - std::fmax(d.x, g.x);
  if (width <= 0) return 0;
  const double height = std::fmin(d.height + d.y, g.height + g.y) - std::fmax(d.y, g.y);
  if (height <= 0) return 0;
  const double shared = width * height, own = d.width * d.height;
  return shared / (g.is_crowd ? own : own + g.width * g.height - shared);
}

void judge(Cell cell, Judgement& judgement) {
  std::stable_sort(cell.found.begin(), cell.found.end(),
                   [](const CocoResult* a, const CocoResult* b) { return a->score > b->score; });
  if (cell.found.size() > kMostFound) cell.found.resize(kMostFound);
  const size_t n_found = cell.found.size(), n_truth = cell.truth.size();
  std::vector<double> iou(n_found * n_truth);
  for (size_t d = 0; d < n_found; ++d) {
    for (size_t g = 0; g < n_truth; ++g) iou[d * n_truth + g] = iou_of(*cell.found[d], *cell.truth[g]);
  }
  const size_t first = judgement.found.size();
  for (size_t d = 0; d < n_found; ++d) judgement.found.push_back({cell.found[d]->score, d, {}});

  std::vector<size_t> order(n_truth);
  std::vector<uint8_t> is_ignored(n_truth), is_matched(n_truth);
  for (size_t a = 0; a < kAreas; ++a) {
    const auto [smallest, largest] = kAreaRanges[a];
    for (size_t g = 0; g < n_truth; ++g) {
      const CocoAnnotation& truth = *cell.truth[g];
      is_ignored[g] = truth.is_crowd || truth.area < smallest || truth.area > largest;
      judgement.to_find[a] += is_ignored[g] == 0;
    }
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_partition(order.begin(), order.end(), [&](size_t g) { return is_ignored[g] == 0; });
    for (size_t t = 0; t < kThresholds; ++t) {
      std::fill(is_matched.begin(), is_matched.end(), uint8_t{0});
      for (size_t d = 0; d < n_found; ++d) {
        double best = std::min(threshold(t), 1 - 1e-10);
        size_t match = n_truth;
        for (const size_t g : order) {
          if (is_matched[g] != 0 && !cell.truth[g]->is_crowd) continue;
          if (match != n_truth && is_ignored[match] == 0 && is_ignored[g] != 0) break;
          if (iou[d * n_truth + g] < best) continue;
          best = iou[d * n_truth + g];
          match = g;
        }
        Verdict& verdict = judgement.found[first + d].verdict[a][t];
        if (match != n_truth) {
          is_matched[match] = 1;
          verdict = is_ignored[match] != 0 ? Verdict::ignored : Verdict::hit;
          continue;
        }
        const double area = cell.found[d]->width * cell.found[d]->height;
        verdict = area < smallest || area > largest ? Verdict::ignored : Verdict::miss;
      }
    }
  }
}

/// A category's numbers.
struct CategoryMetrics {
  std::array<std::array<double, kThresholds>, kAreas> precision;  // with 100 detections, over recalls
  std::array<std::array<std::array<double, kThresholds>, kLimits.size()>, kAreas> recall;
  std::array<bool, kAreas> has_truth = {};
};

/// The mean over the 101 recalls of the highest precision at that recall or beyond.
double mean_precision(const std::vector<double>& recall, std::vector<double> precision) {
  for (size_t i = precision.size(); i-- > 1;) precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;
  for (size_t r = 0; r < kRecalls; ++r) {
    const auto at = std::lower_bound(recall.begin(), recall.end(), static_cast<double>(r) * 0.01) - recall.begin();
    if (static_cast<size_t>(at) < precision.size()) sum += precision[static_cast<size_t>(at)];
  }
  return sum / kRecalls;
}

CategoryMetrics summarize(Judgement& judgement) {
  std::stable_sort(judgement.found.begin(), judgement.found.end(),
                   [](const Judged& a, const Judged& b) { return a.score > b.score; });
  CategoryMetrics metrics;
  std::vector<double> recall, precision;
  for (size_t a = 0; a < kAreas; ++a) {
    metrics.has_truth[a] = judgement.to_find[a] > 0;
    if (!metrics.has_truth[a]) continue;
    const auto to_find = static_cast<double>(judgement.to_find[a]);
    for (size_t m = 0; m < kLimits.size(); ++m) {
      for (size_t t = 0; t < kThresholds; ++t) {
        double hits = 0, misses = 0;
        recall.clear();
        precision.clear();
        for (const Judged& found : judgement.found) {
          if (found.rank >= kLimits[m]) continue;
          hits += found.verdict[a][t] == Verdict::hit;
          misses += found.verdict[a][t] == Verdict::miss;
          recall.push_back(hits / to_find);
          precision.push_back(hits / (misses + hits + std::numeric_limits<double>::epsilon()));
        }
        metrics.recall[a][m][t] = recall.empty() ? 0 : recall.back();
        if (m + 1 == kLimits.size()) metrics.precision[a][t] = mean_precision(recall, precision);
      }
    }
  }
  return metrics;
}

double mean_of(const std::array<double, kThresholds>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / kThresholds;
}

/// The mean of value(category) over those that have truth in area a.
template <class Value>
double over_categories(const std::vector<CategoryMetrics>& all, size_t a, const Value& value) {
  double sum = 0;
  size_t count = 0;
  for (const CategoryMetrics& category : all) {
    if (!category.has_truth[a]) continue;
    sum += value(category);
    ++count;
  }
  return count == 0 ? kNothing : sum / static_cast<double>(count);
}

void expect_finite(bool holds, const char* list, size_t i) {
  if (holds) return;
  throw ValueError(std::string("eval_detection_coco: ") + list + "[" + std::to_string(i) +
                   "] has a number that is not finite");
}

std::vector<int64_t> unique_ids(std::span<const int64_t> ids) {
  const std::set<int64_t> sorted(ids.begin(), ids.end());
  return {sorted.begin(), sorted.end()};
}

}  // namespace

CocoMetrics eval_detection_coco(std::span<const int64_t> images, std::span<const int64_t> categories,
                                std::span<const CocoAnnotation> annotations, std::span<const CocoResult> results) {
  const std::vector<int64_t> image_ids = unique_ids(images), category_ids = unique_ids(categories);
  std::vector<Cells> cells(category_ids.size());
  const auto cells_of = [&](const auto& entry) -> Cells* {
    const auto at = std::lower_bound(category_ids.begin(), category_ids.end(), entry.category);
    if (at == category_ids.end() || *at != entry.category) return nullptr;
    if (!std::binary_search(image_ids.begin(), image_ids.end(), entry.image)) return nullptr;
    return &cells[static_cast<size_t>(at - category_ids.begin())];
  };
  for (size_t i = 0; i < annotations.size(); ++i) {
    const CocoAnnotation& a = annotations[i];
    expect_finite(std::isfinite(a.x) && std::isfinite(a.y) && std::isfinite(a.width) && std::isfinite(a.height) &&
                      std::isfinite(a.area),
                  "annotations", i);
    if (Cells* const own = cells_of(a)) (*own)[a.image].truth.push_back(&a);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const CocoResult& r = results[i];
    expect_finite(std::isfinite(r.x) && std::isfinite(r.y) && std::isfinite(r.width) && std::isfinite(r.height) &&
                      std::isfinite(r.score),
                  "results", i);
    if (Cells* const own = cells_of(r)) (*own)[r.image].found.push_back(&r);
  }

  std::vector<CategoryMetrics> all(category_ids.size());
  parallel_for(static_cast<int64_t>(all.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      Judgement judgement;
      for (const auto& [image, cell] : cells[k]) judge(cell, judgement);
      all[k] = summarize(judgement);
    }
  });

  const auto precision = [&](size_t a) {
    return over_categories(all, a, [a](const CategoryMetrics& c) { return mean_of(c.precision[a]); });
  };
  const auto precision_at = [&](size_t t) {
    return over_categories(all, 0, [t](const CategoryMetrics& c) { return c.precision[0][t]; });
  };
  const auto recall = [&](size_t a, size_t m) {
    return over_categories(all, a, [a, m](const CategoryMetrics& c) { return mean_of(c.recall[a][m]); });
  };
  CocoMetrics metrics{precision(0),
                      precision_at(0),
                      precision_at(5),
                      precision(1),
                      precision(2),
                      precision(3),
                      recall(0, 0),
                      recall(0, 1),
                      recall(0, 2),
                      recall(1, 2),
                      recall(2, 2),
                      recall(3, 2),
                      {}};
  for (const CategoryMetrics& category : all) {
    metrics.class_ap.push_back(category.has_truth[0] ? mean_of(category.precision[0])
                                                     : std::numeric_limits<double>::quiet_NaN());
  }
  return metrics;
}

CocoMetrics eval_detection_coco(std::span<const Detections> found, std::span<const GroundTruth> truth) {
  detail::check_lists("eval_detection_coco", found, truth);
  std::vector<int64_t> images;
  std::set<int64_t> classes;
  std::vector<CocoAnnotation> annotations;
  std::vector<CocoResult> results;
  const auto sides = [](const Box& box) {
    return std::pair(static_cast<double>(box.x_max) - static_cast<double>(box.x_min),
                     static_cast<double>(box.y_max) - static_cast<double>(box.y_min));
  };
  for (size_t i = 0; i < truth.size(); ++i) {
    const auto image = static_cast<int64_t>(i);
    images.push_back(image);
    for (size_t j = 0; j < truth[i].bbox.size(); ++j) {
      const Box& box = truth[i].bbox[j];
      const auto [width, height] = sides(box);
      classes.insert(truth[i].label[j]);
      annotations.push_back({image, truth[i].label[j], box.x_min, box.y_min, width, height,
                             truth[i].area.empty() ? width * height : truth[i].area[j],
                             !truth[i].crowded.empty() && truth[i].crowded[j] != 0, false});
    }
    for (size_t j = 0; j < found[i].bbox.size(); ++j) {
      const Box& box = found[i].bbox[j];
      const auto [width, height] = sides(box);
      classes.insert(found[i].label[j]);
      results.push_back({image, found[i].label[j], box.x_min, box.y_min, width, height, found[i].score[j]});
    }
  }
  const std::vector<int64_t> labels(classes.begin(), classes.end());
  CocoMetrics metrics = eval_detection_coco(images, labels, annotations, results);
  const auto n_classes = labels.empty() ? size_t{0} : static_cast<size_t>(labels.back()) + 1;
  std::vector<double> by_label(n_classes, std::numeric_limits<double>::quiet_NaN());
  for (size_t k = 0; k < labels.size(); ++k) by_label[static_cast<size_t>(labels[k])] = metrics.class_ap[k];
  metrics.class_ap = std::move(by_label);
  return metrics;
}

}  // namespace kusari::metrics
