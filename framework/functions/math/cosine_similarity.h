#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Cosines of the angles between vectors: y = sum(x1 x2) / (max(|x1|, eps) max(|x2|, eps)) along an axis.
/// x1, x2: one floating dtype, shapes that broadcast. axis: of the common shape, negative ones count from the end. eps:
/// the least norm, not negative, so that a zero vector gives 0 and gets no gradient from its norm. Returns the common
/// shape without the axis, in x1's dtype; 16-bit ones are computed in float32. Throws TypeError for other dtypes or
/// shapes, IndexError for an axis that there is not, ValueError for another eps. Differentiable to any order.
/// torch.nn.functional.cosine_similarity.
KUSARI_API Variable cosine_similarity(const Variable& x1, const Variable& x2, int64_t axis = 1, double eps = 1e-8);

}  // namespace kusari::functions
