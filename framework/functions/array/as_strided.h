#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// A view of the memory that x lies in: y[i, j, ...] is its element storage_offset + i strides[0] + j strides[1] + ...
/// x: any dtype; its own shape and strides do not matter, only where it lies: a convolution's result is channels-last
/// in memory. strides: in elements, may be zero or negative. storage_offset: in elements from the start of the memory;
/// default: x's first element. Returns y: shape, sharing x's elements. Throws ValueError when y would reach outside
/// x's memory. Differentiable to any order: gradients of elements that y holds several times add up, and those of
/// elements that x does not hold are dropped. chainer.functions.as_strided.
KUSARI_API Variable as_strided(const Variable& x, const Shape& shape, const Strides& strides,
                               std::optional<int64_t> storage_offset = std::nullopt);

}  // namespace kusari::functions
