#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/connection/convolution_nd.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"

namespace kusari::functions {

/// convolution_nd_with_sums(batch_normalization_relu(x, gamma, beta, normalization), W, options), without what lies
/// between the two in memory where a device can: for float16 images on CUDA with `normalization.sums`, where cuDNN has
/// kernels that normalize what they load; off with Fusions::normalized_convolutions. The numbers are those of the two
/// functions within the rounding of float16, and it throws what they throw. Differentiable to any order.
KUSARI_API ConvolutionWithSums batch_normalization_relu_convolution(const Variable& x, const Variable& gamma,
                                                                    const Variable& beta, const Variable& W,
                                                                    const BatchNormalizationOptions& normalization = {},
                                                                    const ConvolutionOptions& options = {});

}  // namespace kusari::functions
