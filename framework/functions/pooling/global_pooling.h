#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The largest element of each channel's image.
/// x: (N, C, in...), floating, with one or more spatial axes, none of them empty. Returns (N, C, 1, ...) in x's dtype.
/// Throws TypeError when x does not fit. Differentiable to any order: the gradient goes to the largest element, the
/// first of equal ones in C order. ONNX's GlobalMaxPool.
KUSARI_API Variable global_max_pooling_nd(const Variable& x);

/// The mean of each channel's image; otherwise like global_max_pooling_nd. F::global_average_pooling_2d gives (N, C).
/// ONNX's GlobalAveragePool.
KUSARI_API Variable global_average_pooling_nd(const Variable& x);

}  // namespace kusari::functions
