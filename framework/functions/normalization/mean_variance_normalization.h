#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// y = (x - mean) / (sqrt(variance) + eps), with the mean and the biased variance along axes.
/// x: any shape, floating. axes: by default those of each channel of a batch of images. eps: not negative. Returns y
/// like x; computed in float32 at least. Throws TypeError if x is not floating, IndexError for an axis that x does not
/// have, ValueError for one named twice or for eps. Differentiable to any order where the variance is not 0. ONNX's
/// MeanVarianceNormalization.
KUSARI_API Variable mean_variance_normalization(const Variable& x, const Axes& axes = {0, 2, 3}, double eps = 1e-9);

}  // namespace kusari::functions
