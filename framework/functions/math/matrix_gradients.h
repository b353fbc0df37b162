#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/array/transpose.h"

// What the gradients of decompositions share. For the sources of this folder.
namespace kusari::functions {

/// Its matrices, the last two axes, with rows and columns exchanged.
inline Variable transposed(const Variable& x) { return swapaxes(x, -2, -1); }

/// True on the diagonal: (n, n).
Array diagonal_mask(int64_t n, const Device& device);

/// y[i][j] = (w[i][j] - w[j][i]) / (values[j] - values[i]), and 0 on the diagonal: how vectors turn against each
/// other. Not finite where two values are equal, since what the vectors of equal values are is anybody's choice.
/// w: (..., n, n); values: (..., n).
Variable over_differences(const Variable& w, const Variable& values);

/// F::solve for the gradient of `call`, which an error names.
Variable solve_in_gradient(const char* call, const Variable& a, const Variable& b);

}  // namespace kusari::functions
