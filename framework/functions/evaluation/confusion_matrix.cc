#include "kusari/framework/functions/evaluation/confusion_matrix.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

constexpr const char* kConfusion = "F::confusion_matrix";

void check_predictions(const Variable& y, const Variable& t) {
  expect_given(y, kConfusion, "y");
  expect_given(t, kConfusion, "t");
  Shape labels = y.shape();
  const bool are_scores = is_floating(y.dtype());
  if (are_scores && labels.ndim() >= 2) labels.erase(1);
  if (t.shape() == labels && is_integral(t.dtype()) && (!are_scores || (y.ndim() >= 2 && y.shape()[1] > 0))) return;
  throw TypeError(std::string(kConfusion) + ": y has shape " + to_string(y.shape()) + " and dtype " + name(y.dtype()) +
                  " and t has shape " + to_string(t.shape()) + " and dtype " + name(t.dtype()) +
                  ": y must be (N, C, ...) scores with t (N, ...) integers, or both integers of one shape");
}

std::vector<int64_t> predicted_classes(const Array& y) {
  if (!y.is_floating()) return y.to_vector<int64_t>();
  Shape places = y.shape();
  places.erase(1);
  const Array best = empty(places, Dtype::int64, y.device());
  launch<kernels::Argmax>(y.device(), 1, y, best);
  return best.to_vector<int64_t>();
}

size_t class_index(const char* what, const char* argument, int64_t value, int64_t classes) {
  if (value >= 0 && value < classes) return static_cast<size_t>(value);
  throw IndexError(std::string(kConfusion) + ": " + what + " " + std::to_string(value) + " in " + argument +
                   " must be in [0, " + std::to_string(classes) + ")");
}

}  // namespace

Variable confusion_matrix(const Variable& y, const Variable& t, const ConfusionMatrixOptions& options) {
  check_predictions(y, t);
  if (options.label_num) argument::not_negative(kConfusion, "label_num", *options.label_num);
  const std::vector<int64_t> labels = t.array().to_vector<int64_t>(), predictions = predicted_classes(y.array());
  const auto counts = [&](size_t i) { return labels[i] != options.ignore_label; };
  int64_t classes = 0;
  if (options.label_num) {
    classes = *options.label_num;
  } else if (is_floating(y.dtype())) {
    classes = y.shape()[1];
  } else {
    int64_t largest = -1;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (counts(i)) largest = std::max({largest, labels[i], predictions[i]});
    }
    if (largest == -1) throw ValueError(std::string(kConfusion) + ": no label counts: label_num must be given");
    argument::require(largest < std::numeric_limits<int64_t>::max(), kConfusion, "the largest label", largest,
                      "be less");
    classes = largest + 1;
  }
  std::vector<int64_t> matrix = host_vector<int64_t>({classes, classes}, kConfusion);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!counts(i)) continue;
    const size_t label = class_index("label", "t", labels[i], classes);
    ++matrix[label * static_cast<size_t>(classes) + class_index("class", "y", predictions[i], classes)];
  }
  return Variable(array(matrix, {classes, classes}, y.device()), false);
}

}  // namespace kusari::functions
