#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rows of an embedding matrix: y[i...] = W[x[i...]].
/// x: any shape, integers; negative ones count from the end. W: (V, D). ignore_label: an id whose row is zeros. Returns
/// y of shape x.shape + (D,) and W's dtype. Throws TypeError when dtypes or axes do not fit, IndexError for an id
/// outside the matrix. Differentiable to any order by W; gradients of repeated ids add up, in float32 for half types.
/// chainer.functions.embed_id.
KUSARI_API Variable embed_id(const Variable& x, const Variable& W, std::optional<int64_t> ignore_label = std::nullopt);

}  // namespace kusari::functions
