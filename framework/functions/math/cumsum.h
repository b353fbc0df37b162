#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// How cumsum and cumprod run along their axis.
struct ScanOptions {
  bool exclusive = false;  ///< leave the element itself out: the first result is 0, of cumprod 1
  bool reverse = false;    ///< from the axis' end
};

/// Running sums along an axis: y[i] = x[0] + ... + x[i].
/// x: any shape and dtype. axis: negative ones count from the end; not given, x is flattened. Returns y in x's shape
/// (flat without axis) and dtype, half types summed in float32; integers and bool give int64, as in NumPy. Throws
/// IndexError for an axis that x does not have. Differentiable to any order. chainer.functions.cumsum.
KUSARI_API Variable cumsum(const Variable& x, std::optional<int64_t> axis = std::nullopt,
                           const ScanOptions& options = {});

}  // namespace kusari::functions
