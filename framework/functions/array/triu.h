#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Matrices with zeros below a diagonal: y[..., i, j] = x[..., i, j] where j - i >= k, else 0.
/// x: two axes at least, any dtype. k: 0 for the main diagonal, positive above it. Returns y like x. Throws TypeError
/// for fewer axes. Differentiable to any order. numpy.triu.
KUSARI_API Variable triu(const Variable& x, int64_t k = 0);

/// Matrices with zeros above a diagonal: y[..., i, j] = x[..., i, j] where j - i <= k, else 0; otherwise like triu.
/// numpy.tril.
KUSARI_API Variable tril(const Variable& x, int64_t k = 0);

}  // namespace kusari::functions
