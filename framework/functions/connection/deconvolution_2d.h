#pragma once

#include "kusari/framework/functions/connection/deconvolution_nd.h"

namespace kusari::functions {

/// deconvolution_nd for x: (N, C, H, W). chainer.functions.deconvolution_2d.
KUSARI_API Variable deconvolution_2d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                     const DeconvolutionOptions& options = {});

}  // namespace kusari::functions
