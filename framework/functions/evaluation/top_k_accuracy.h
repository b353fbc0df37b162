#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Fraction of labels that are among the k classes with the largest scores; of equal scores the first count.
/// y: (N, C, ...), floating: scores. t: (N, ...), integers. k: in [1, C]. ignore_label: labels that do not count.
/// Returns a scalar of y's dtype, 0 when no label counts. Throws TypeError when shapes or dtypes do not fit, ValueError
/// for another k. Not differentiable. sklearn.metrics.top_k_accuracy_score; with k = 1 F::accuracy.
KUSARI_API Variable top_k_accuracy(const Variable& y, const Variable& t, int64_t k,
                                   std::optional<int64_t> ignore_label = std::nullopt);

}  // namespace kusari::functions
