#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// One element of x for each index: y[i, j, ...] = x[i, indices[i, j, ...], ...] for axis 1.
/// x: one axis at least, any dtype. indices: integers, as many axes as x; along axes other than `axis` at most x's
/// size. Negative indices count from the end. Returns y of indices' shape in x's dtype. Throws TypeError when indices
/// do not fit, IndexError for an axis or, on the CPU, an index out of range (elsewhere that gives 0). Differentiable to
/// any order by x. numpy.take_along_axis, torch.gather.
KUSARI_API Variable gather_elements(const Variable& x, const Variable& indices, int64_t axis = 0);

/// Parts of x that vectors of indices name: y[i, ...] = x[indices[i, 0], indices[i, 1], ..., ...].
/// x: any dtype. indices: integers, (b..., i..., k): k >= 1 indices of the axes that follow the batch axes; negative
/// ones count from the end. batch_dims: how many leading axes x and indices share. Returns y of shape (b..., i...) and
/// x's axes from batch_dims + k on. Throws TypeError when indices do not fit, ValueError for another batch_dims,
/// IndexError, on the CPU, for an index out of range (elsewhere that gives 0). Differentiable to any order by x.
KUSARI_API Variable gather_nd(const Variable& x, const Variable& indices, int64_t batch_dims = 0);

}  // namespace kusari::functions
