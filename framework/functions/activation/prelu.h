#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rectifier with learnt slopes below zero: y = x for x >= 0, W x otherwise.
/// x: (N, ...), floating. W: of x's dtype, its shape that of x's axes from axis 1 on, the last ones left out where they
/// share a slope: () one slope for all, (C) one per channel. Returns y like x. Throws ValueError when the shapes do not
/// fit, TypeError for other dtypes. Differentiable to any order, with derivative 1 at 0. He et al. 2015;
/// chainer.functions.prelu.
KUSARI_API Variable prelu(const Variable& x, const Variable& W);

}  // namespace kusari::functions
