#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What becomes of an element that an update meets: it is replaced, or both are added, multiplied, or the larger or
/// smaller one stays.
enum class ScatterReduction : uint8_t { none, add, mul, max, min };

/// x with updates put where gather_elements would take them: y[i, indices[i, j, ...], ...] = updates[i, j, ...] for
/// axis 1.
/// x, indices, axis: as for gather_elements. updates: of indices' shape and x's dtype. Returns y like x. Of several
/// updates of one element the last one, in C order, replaces it; the other reductions take all of them.
/// mul, max and min look at the indices on the host, so a static graph cannot record them, and take a step for each
/// update that meets in one element. Throws what gather_elements throws, TypeError when updates do not fit or bools are
/// to be reduced. Differentiable to any order by x and updates. torch.scatter, torch.scatter_reduce.
KUSARI_API Variable scatter_elements(const Variable& x, const Variable& indices, const Variable& updates,
                                     int64_t axis = 0, ScatterReduction reduction = ScatterReduction::none);

/// x with updates put where gather_nd(x, indices) would take them: y[indices[i, 0], indices[i, 1], ..., ...] =
/// updates[i, ...].
/// x, indices: as for gather_nd without batch axes. updates: of the shape of gather_nd(x, indices), of x's dtype.
/// Otherwise like scatter_elements.
KUSARI_API Variable scatter_nd(const Variable& x, const Variable& indices, const Variable& updates,
                               ScatterReduction reduction = ScatterReduction::none);

}  // namespace kusari::functions
