#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/convolution.h"

namespace kusari::kernels {

/// What follows each of the two products; kernel.index < 0: nothing.
struct ExcitationFunctions {
  UnaryFunctor inner, outer;
};

/// y = x s, with a factor for each image and channel that follows from the means m of its positions:
/// s = outer(W2 inner(W1 m + b1) + b2). x and y: (N, C, H, W), channels-last if it is to be fast; W1: (R, C),
/// W2: (C, R), rows without gaps; b1: (R), b2: (C), or undefined. All of float32. For inference.
/// Each result is the same bits whatever the number of threads. Hu et al. 2018.
struct SqueezeExcitation {
  static constexpr const char* kName = "squeeze_excitation";
  using Signature = void(Params<ExcitationFunctions> functions, In x, In W1, In b1, In W2, In b2, Out y);
};

}  // namespace kusari::kernels
