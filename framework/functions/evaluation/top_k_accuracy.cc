#include "kusari/framework/functions/evaluation/top_k_accuracy.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {

Variable top_k_accuracy(const Variable& y, const Variable& t, int64_t k, std::optional<int64_t> ignore_label) {
  const char* const call = "F::top_k_accuracy";
  expect_floating(y, call, "y");
  expect_given(t, call, "t");
  Shape labels = y.shape();
  if (labels.ndim() >= 2) labels.erase(1);
  if (y.ndim() < 2 || t.shape() != labels || !is_integral(t.dtype())) {
    throw TypeError(std::string(call) + ": y has shape " + to_string(y.shape()) + " and t has shape " +
                    to_string(t.shape()) + " and dtype " + name(t.dtype()) +
                    ": y must be (N, C, ...) and t (N, ...) integers");
  }
  argument::require(k >= 1 && k <= y.shape()[1], call, "k", k, "be in [1, C]");
  const auto mode = no_backprop_mode();
  const Dtype wide = y.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  Shape beside = labels;
  beside.insert(1, 1);
  const Array predicted = top_k(y, k, 1).indices.array(), label = t.array();
  // The k places differ: no label is hit twice.
  Array hits = xp::sum((predicted == label.reshape(beside)).astype(wide), 1);
  Array total;
  if (ignore_label) {
    const Array counts = (label != *ignore_label).astype(wide);
    hits = hits * counts;
    total = xp::maximum(xp::sum(counts), 1);
  } else {
    total = full({}, std::max<int64_t>(label.size(), 1), wide, y.device());
  }
  return Variable((xp::sum(hits) / total).astype(y.dtype()), false);
}

}  // namespace kusari::functions
