#pragma once

#include "kusari/framework/functions/connection/convolution_nd.h"

namespace kusari::functions {

/// convolution_nd for x: (N, C, H, W). chainer.functions.convolution_2d.
KUSARI_API Variable convolution_2d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                   const ConvolutionOptions& options = {});

}  // namespace kusari::functions
