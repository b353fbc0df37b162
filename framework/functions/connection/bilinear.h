#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y[l] = sum(e1[j] e2[k] W[j, k, l]), plus e1 V1 + e2 V2 + b where these are given.
/// e1: (N, ...), its further axes flattened to J. e2: (N, ...), flattened to K. W: (J, K, L). V1: (J, L), V2: (K, L)
/// and b: (L), all three or none. All floating and of one dtype. Returns y: (N, L). Throws TypeError when shapes or
/// dtypes do not fit, ValueError when only some of V1, V2 and b are given. Differentiable to any order. Socher et al.
/// 2013; chainer.functions.bilinear.
KUSARI_API Variable bilinear(const Variable& e1, const Variable& e2, const Variable& W, const Variable& V1 = Variable(),
                             const Variable& V2 = Variable(), const Variable& b = Variable());

}  // namespace kusari::functions
