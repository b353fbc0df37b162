#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Fraction of labels that the largest score predicts.
/// y: (N, C, ...), floating: scores. t: (N, ...), integers. ignore_label: labels that do not count. Returns a scalar of
/// y's dtype, 0 when no label counts (NaN without `ignore_label`, as of any empty mean). Throws TypeError when shapes
/// or dtypes do not fit. Not differentiable. chainer.functions.accuracy.
KUSARI_API Variable accuracy(const Variable& y, const Variable& t, std::optional<int64_t> ignore_label = std::nullopt);

}  // namespace kusari::functions
