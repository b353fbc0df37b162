#pragma once

#include "kusari/cuda/cudnn_graph.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/convolution.h"

namespace kusari::cuda {

/// y = activation(convolution of x with W, + z + bias) in one kernel, for inference. z: of y's shape, or undefined;
/// bias: (O), or undefined; all of x's dtype except W and bias, which are converted. Any strides.
/// Returns false, having done nothing, where cuDNN has no such kernel ready-made or is switched off.
bool convolution_fused(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& z,
                       const Array& bias, Activation activation, const Array& y);

}  // namespace kusari::cuda
