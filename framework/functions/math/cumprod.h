#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/math/cumsum.h"

namespace kusari::functions {

/// Running products along an axis: y[i] = x[0] x[1] ... x[i].
/// x: any shape and dtype. axis: negative ones count from the end; not given, x is flattened. Returns y in x's shape
/// (flat without axis) and dtype, half types multiplied in float32; integers and bool give int64, as in NumPy. Throws
/// IndexError for an axis that x does not have. Differentiable to any order, also at zeros, in time and memory linear
/// in x's size. chainer.functions.cumprod.
KUSARI_API Variable cumprod(const Variable& x, std::optional<int64_t> axis = std::nullopt,
                            const ScanOptions& options = {});

}  // namespace kusari::functions
