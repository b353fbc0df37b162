#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Limits elements to [x_min, x_max].
/// x: any shape, floating. A bound that is std::nullopt (Chainer's None) is open. Returns y like x. Throws TypeError if
/// x is not floating, ValueError when x_min > x_max, a bound is NaN or both are open. Differentiable to any order, with
/// derivative 1 at both bounds. chainer.functions.clip.
KUSARI_API Variable clip(const Variable& x, std::optional<double> x_min, std::optional<double> x_max);

}  // namespace kusari::functions
