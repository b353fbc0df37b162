#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/batch_normalization.h"

namespace kusari::cuda {

/// sums (2, C), float32, of y (N, C, ...), which is not empty: of the elements of each channel and of their squares.
void take_channel_sums(const Array& y, const Array& sums);

/// From those of x what a batch normalization makes of them, with gamma and beta (C) in float32: mean and inv_std, the
/// running statistics unless undefined, and load (2, C) in float16, y being x load[0] + load[1].
void finish_channel_sums(const kernels::BatchNormalization& options, const Array& x, const Array& sums,
                         const Array& gamma, const Array& beta, const Array& running_mean, const Array& running_var,
                         const Array& mean, const Array& inv_std, const Array& load);

}  // namespace kusari::cuda
