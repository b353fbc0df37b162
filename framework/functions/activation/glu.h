#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Gated linear unit: y = a * sigmoid(b), a and b being the first and the second half of x along an axis.
/// x: floating, with an even size along that axis; negative axes count from the end. Returns y of x's dtype, half as
/// long along the axis. Throws TypeError if x is not floating or its size odd, IndexError for an axis that x does not
/// have. Differentiable to any order. Dauphin et al. 2017; torch.nn.functional.glu, which has the last axis by default
/// too.
KUSARI_API Variable glu(const Variable& x, int64_t axis = -1);

}  // namespace kusari::functions
