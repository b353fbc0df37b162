#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::kernels {

/// What the kernels of a batch normalization share.
struct BatchNormalization {
  AxisMask axes;       ///< averaged over; the others are the "channels"
  double eps = 0;      ///< added to the variances
  double decay = 0;    ///< of the running statistics
  bool relu = false;   ///< the result is cut at 0, after the residual was added
  bool fixed = false;  ///< in backward: mean and inv_std are constants
};

// x, residual, y and their gradients: one shape, of any strides and floating dtype; channels innermost in memory is
// what every implementation is made for. gamma, beta and whatever belongs to channels: the shape of x's channel axes.
// Statistics are float64 if x or gamma is, else float32, and the same bits whatever the number of threads; mean and
// inv_std that a kernel has given, or that another one gets, lie without gaps.

/// mean and inv_std = 1 / sqrt(var + eps) of x, and from them y = (x - mean) gamma inv_std + beta [+ residual]
/// [cut at 0]. running_mean = decay running_mean + (1 - decay) mean; the same for running_var with the unbiased
/// variance. residual, running_mean with running_var, and y may be undefined.
struct BatchNormalizationForward {
  static constexpr const char* kName = "batch_normalization_forward";
  using Signature = void(Params<BatchNormalization> options, In x, In residual, In gamma, In beta, InOut running_mean,
                         InOut running_var, Out mean, Out inv_std, Out y);
};

/// The same y from a given mean and variance. residual and inv_std may be undefined.
struct FixedBatchNormalization {
  static constexpr const char* kName = "fixed_batch_normalization";
  using Signature = void(Params<BatchNormalization> options, In x, In residual, In gamma, In beta, In mean, In var,
                         Out inv_std, Out y);
};

/// y once more, the same bits, from the mean and inv_std of either.
struct BatchNormalizationAgain {
  static constexpr const char* kName = "batch_normalization_again";
  using Signature = void(Params<BatchNormalization> options, In x, In residual, In gamma, In beta, In mean, In inv_std,
                         Out y);
};

/// The gradients, from that of y. With relu, y is needed if there was a residual, beta otherwise. Results may be
/// undefined where nobody wants them; gresidual is for relu with a residual.
struct BatchNormalizationBackward {
  static constexpr const char* kName = "batch_normalization_backward";
  using Signature = void(Params<BatchNormalization> options, In x, In y, In gy, In gamma, In beta, In mean, In inv_std,
                         Out gx, Out gresidual, Out ggamma, Out gbeta);
};

/// BatchNormalizationForward that knows more. sums: (2, channels) of the statistics' dtype, those of x's elements and
/// of their squares, as ConvolutionForwardWithSums gives them: then x is read once. mask: uint8 (mask_bytes), which
/// elements of y are above 0, for BatchNormalizationMaskedBackward; with relu and a residual, for a multiple of
/// kMaskChannels channels of x's dtype or a narrower one. Each may be undefined, residual too; y may not. A backend may
/// lack it.
struct BatchNormalizationFusedForward {
  static constexpr const char* kName = "batch_normalization_fused_forward";
  using Signature = void(Params<BatchNormalization> options, In x, In sums, In residual, In gamma, In beta,
                         InOut running_mean, InOut running_var, Out mean, Out inv_std, Out y, Out mask);
};

/// BatchNormalizationBackward with relu and a residual, from the mask instead of y. A backend may lack it.
struct BatchNormalizationMaskedBackward {
  static constexpr const char* kName = "batch_normalization_masked_backward";
  using Signature = void(Params<BatchNormalization> options, In x, In mask, In gy, In gamma, In mean, In inv_std,
                         Out gx, Out gresidual, Out ggamma, Out gbeta);
};

/// A mask has a byte for each 16 bytes of y, taken as rows of channels: bit i is that of their element i.
inline constexpr int64_t kMaskChannels = 8;
inline int64_t mask_bytes(const Array& y) { return y.nbytes() / 16; }

}  // namespace kusari::kernels
