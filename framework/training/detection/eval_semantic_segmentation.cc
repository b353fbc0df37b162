#include "kusari/framework/training/detection/eval_semantic_segmentation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"

namespace kusari::metrics {
namespace {

const char* const kConfusion = "SegmentationConfusion::add";
constexpr int64_t kHighestClass = 65535;

std::vector<int64_t> classes_of(const Array& array, const char* name, int64_t lowest) {
  if (is_floating(array.dtype())) {
    throw TypeError(std::string(kConfusion) + ": " + name + " has dtype " + kusari::name(array.dtype()) +
                    ": it must be integers");
  }
  std::vector<int64_t> classes = array.to_vector<int64_t>();
  for (const int64_t c : classes) {
    if (c >= lowest && c <= kHighestClass) continue;
    throw ValueError(std::string(kConfusion) + ": " + name + " has the class " + std::to_string(c) +
                     ": it must be in [" + std::to_string(lowest) + ", 65535]");
  }
  return classes;
}

double quotient(int64_t a, int64_t b) {
  return b == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(a) / static_cast<double>(b);
}

double mean_of_numbers(const std::vector<double>& values) {
  double sum = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

}  // namespace

void SegmentationConfusion::add(const Array& predicted, const Array& truth) {
  if (!predicted.is_defined() || !truth.is_defined()) {
    throw TypeError(std::string(kConfusion) + ": an array is undefined");
  }
  if (predicted.shape() != truth.shape()) {
    throw TypeError(std::string(kConfusion) + ": predicted has shape " + to_string(predicted.shape()) +
                    " but truth has shape " + to_string(truth.shape()) + ": they must be equal");
  }
  const std::vector<int64_t> said = classes_of(predicted, "predicted", 0), is = classes_of(truth, "truth", -1);
  int64_t most = classes_;
  for (const int64_t c : said) most = std::max(most, c + 1);
  for (const int64_t c : is) most = std::max(most, c + 1);
  if (most > classes_) {
    std::vector<int64_t> grown = host_vector<int64_t>({most, most}, kConfusion);
    for (int64_t t = 0; t < classes_; ++t) {
      for (int64_t p = 0; p < classes_; ++p) grown[static_cast<size_t>(t * most + p)] = count(t, p);
    }
    counts_ = std::move(grown);
    classes_ = most;
  }
  for (size_t i = 0; i < is.size(); ++i) {
    if (is[i] >= 0) ++counts_[static_cast<size_t>(is[i] * classes_ + said[i])];
  }
}

int64_t SegmentationConfusion::count(int64_t truth, int64_t predicted) const {
  if (truth < 0 || predicted < 0 || truth >= classes_ || predicted >= classes_) return 0;
  return counts_[static_cast<size_t>(truth * classes_ + predicted)];
}

SegmentationMetrics SegmentationConfusion::metrics() const {
  SegmentationMetrics result{};
  int64_t right = 0, all = 0;
  for (int64_t c = 0; c < classes_; ++c) {
    int64_t is = 0, said = 0;
    for (int64_t other = 0; other < classes_; ++other) {
      is += count(c, other);
      said += count(other, c);
    }
    right += count(c, c);
    all += is;
    result.iou.push_back(quotient(count(c, c), is + said - count(c, c)));
    result.class_accuracy.push_back(quotient(count(c, c), is));
  }
  result.miou = mean_of_numbers(result.iou);
  result.pixel_accuracy = quotient(right, all);
  result.mean_class_accuracy = mean_of_numbers(result.class_accuracy);
  return result;
}

SegmentationMetrics eval_semantic_segmentation(std::span<const Array> predicted, std::span<const Array> truth) {
  if (predicted.size() != truth.size()) {
    throw ValueError("eval_semantic_segmentation: predicted has " + std::to_string(predicted.size()) +
                     " images and truth " + std::to_string(truth.size()) + ": there must be as many");
  }
  SegmentationConfusion confusion;
  for (size_t i = 0; i < truth.size(); ++i) confusion.add(predicted[i], truth[i]);
  return confusion.metrics();
}

}  // namespace kusari::metrics
