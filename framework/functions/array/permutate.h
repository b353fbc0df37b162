#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x with the elements of an axis in another order: y[i] = x[indices[i]]; with inv y[indices[i]] = x[i].
/// x: any dtype. indices: (n), integers, a permutation of 0, ..., n - 1 for an axis of size n. axis: negative ones
/// count from the end. Throws IndexError for an axis that x does not have, TypeError when indices is no such array,
/// ValueError when it is no permutation, which is seen where the indices are on the CPU and not in static graphs.
/// Differentiable to any order by x. chainer.functions.permutate.
KUSARI_API Variable permutate(const Variable& x, const Array& indices, int64_t axis = 0, bool inv = false);

}  // namespace kusari::functions
