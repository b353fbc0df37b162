#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/framework/kernels/convolution.h"

// Batch normalization, ReLU and a convolution: h = max(0, (x - mean) gamma inv_std + beta), y = the convolution of h
// with W, where h need not be in memory. x (N, C, H, W), W (O, C, kernel...), y, their gradients: float16,
// channels-last. gamma, beta and what belongs to channels: (C) in float32. A backend may lack these.
namespace kusari::kernels {

/// Whether the kernels below keep h out of the memory for these shapes. No kernel of arrays, but found like one.
struct NormalizedConvolutionPlans {
  static constexpr const char* kName = "normalized_convolution_plans";
  using Signature = bool(const Convolution& geometry, const Device& device, const Shape& x, const Shape& W,
                         const Shape& y);
};

/// sums: (2, C) of x, from the convolution that made it. Gives mean, inv_std, y, the sums (2, O) of y, and load (2, C)
/// in float16, the factors and summands of x for backward.
struct NormalizedConvolutionForward {
  static constexpr const char* kName = "normalized_convolution_forward";
  using Signature = void(Params<BatchNormalization> normalization, Params<Convolution> geometry, In x, In sums,
                         In gamma, In beta, InOut running_mean, InOut running_var, In W, Out mean, Out inv_std,
                         Out load, Out y, Out y_sums);
};

/// All gradients from that of y. ggamma, gbeta and gx may be undefined.
struct NormalizedConvolutionBackward {
  static constexpr const char* kName = "normalized_convolution_backward";
  using Signature = void(Params<BatchNormalization> normalization, Params<Convolution> geometry, In x, In gamma,
                         In beta, In mean, In inv_std, In load, In W, In gy, Out gx, Out ggamma, Out gbeta, Out gW);
};

}  // namespace kusari::kernels
