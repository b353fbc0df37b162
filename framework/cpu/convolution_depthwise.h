#pragma once

#include "kusari/framework/cpu/convolution.h"

namespace kusari::cpu {

/// Convolutions whose groups have one channel of x each, by loops over neighbouring channels. float32 and float64.
void convolve_depthwise(const ConvolutionProblem& p, const ConvolutionArrays& a);

}  // namespace kusari::cpu
