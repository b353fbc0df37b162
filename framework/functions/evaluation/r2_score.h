#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What F::r2_score does with the scores of several outputs. chainer's `multioutput` argument.
enum class Multioutput : uint8_t { uniform_average, raw_values };

/// Coefficient of determination: 1 - sum((pred - truth)^2) / sum((truth - mean(truth))^2) over the examples; 0 where
/// all truths are one number. pred, truth: (N, ...), one shape, floating. Returns the mean over the outputs, or with
/// Multioutput::raw_values one score for each, in pred's dtype. Throws TypeError when shapes or dtypes do not fit. Not
/// differentiable. chainer.functions.r2_score.
KUSARI_API Variable r2_score(const Variable& pred, const Variable& truth,
                             Multioutput multioutput = Multioutput::uniform_average);

}  // namespace kusari::functions
