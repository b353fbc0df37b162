#include "kusari/framework/functions/evaluation/binary_ranking.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

// Examples of one score.
struct Tied {
  double hits = 0, misses = 0;  // of the class, and of the others
};

// From the largest score; NaN is refused.
std::vector<Tied> ranked(const char* call, const Variable& y, const Variable& t, int64_t ignore_label) {
  expect_floating(y, call, "y");
  expect_given(t, call, "t");
  if (t.shape() != y.shape() || !is_integral(t.dtype())) {
    throw TypeError(std::string(call) + ": y has shape " + to_string(y.shape()) + " and t has shape " +
                    to_string(t.shape()) + " and dtype " + name(t.dtype()) + ": t must be integers of y's shape");
  }
  const std::vector<double> scores = y.array().to_vector<double>();
  const std::vector<int64_t> labels = t.array().to_vector<int64_t>();
  std::vector<std::pair<double, bool>> examples;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (labels[i] == ignore_label) continue;
    if (labels[i] != 0 && labels[i] != 1) {
      throw ValueError(std::string(call) + ": label " + std::to_string(labels[i]) + " in t must be 0, 1, or " +
                       std::to_string(ignore_label) + " (ignore_label)");
    }
    if (std::isnan(scores[i])) throw ValueError(std::string(call) + ": y holds NaN: scores must have an order");
    examples.emplace_back(scores[i], labels[i] == 1);
  }
  std::sort(examples.begin(), examples.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Tied> result;
  for (size_t i = 0; i < examples.size(); ++i) {
    if (i == 0 || examples[i].first != examples[i - 1].first) result.emplace_back();
    ++(examples[i].second ? result.back().hits : result.back().misses);
  }
  return result;
}

Variable score_of(const Variable& y, double value) {
  return Variable(full({}, value, y.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32, y.device()), false);
}

}  // namespace

Variable roc_auc_score(const Variable& y, const Variable& t, int64_t ignore_label) {
  const char* const call = "F::roc_auc_score";
  return in_host_memory(call, [&] {
    double hits = 0, misses = 0, area = 0;
    for (const Tied& tied : ranked(call, y, t, ignore_label)) {
      area += tied.misses * (hits + tied.hits / 2);
      hits += tied.hits;
      misses += tied.misses;
    }
    return score_of(y, area / (hits * misses));
  });
}

Variable average_precision_score(const Variable& y, const Variable& t, int64_t ignore_label) {
  const char* const call = "F::average_precision_score";
  return in_host_memory(call, [&] {
    double hits = 0, found = 0, sum = 0;
    for (const Tied& tied : ranked(call, y, t, ignore_label)) {
      hits += tied.hits;
      found += tied.hits + tied.misses;
      sum += tied.hits * hits / found;
    }
    return score_of(y, sum / hits);
  });
}

}  // namespace kusari::functions
