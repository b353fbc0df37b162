#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// What F::hinge adds up: the violations of the margin or their squares. chainer's `norm` argument.
enum class HingeNorm : uint8_t { L1, L2 };

/// Hinge loss of one class against the rest: max(0, 1 - s x)^p with s = 1 for the class of the label, -1 for others.
/// x: (N, K), floating: scores. t: (N), integers; negative ones count from the end. norm: p. Returns the sum over the
/// classes and mean over the batch, the sum over both or (N, K). Throws TypeError when shapes or dtypes do not fit,
/// IndexError for a label out of range. Differentiable to any order by x, with derivative 0 at the margin.
/// chainer.functions.hinge.
KUSARI_API Variable hinge(const Variable& x, const Variable& t, HingeNorm norm = HingeNorm::L1,
                          Reduce reduce = Reduce::mean);

}  // namespace kusari::functions
