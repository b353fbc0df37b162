#pragma once

#include "kusari/framework/functions/connection/convolution_nd.h"

namespace kusari::functions {

/// convolution_2d under the name that Chainer keeps for kernels with holes: `{.dilate = 2}`.
/// Arguments, result, errors and derivatives are those of convolution_2d. chainer.functions.dilated_convolution_2d.
KUSARI_API Variable dilated_convolution_2d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                           const ConvolutionOptions& options = {});

}  // namespace kusari::functions
