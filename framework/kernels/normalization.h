#pragma once

#include <cstdint>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::kernels {

struct GroupNormalizationOptions {
  int64_t groups = 1;
  double eps = 1e-5;
};

/// y = gamma (x - mean) inv_std + beta, where mean and variance are those of one group of channels of one example and
/// inv_std = 1 / sqrt(variance + eps). x, y: (N, C, ...), floating, of any strides; groups divides C. gamma, beta: (C),
/// floating. mean, inv_std: (N, groups), float64, C-ordered. The arithmetic is in float64 if x or gamma is float64,
/// else in float32; sums are in float64.
struct GroupNormalization {
  static constexpr const char* kName = "group_normalization";
  using Signature = void(Params<GroupNormalizationOptions> options, In x, In gamma, In beta, Out y, Out mean,
                         Out inv_std);
};

/// The gradients of x, gamma and beta, from that of y and the statistics of the forward computation. ggamma and gbeta
/// have the type of the arithmetic; each of the three may be undefined.
struct GroupNormalizationGrad {
  static constexpr const char* kName = "group_normalization_grad";
  using Signature = void(Params<GroupNormalizationOptions> options, In x, In gamma, In mean, In inv_std, In gy, Out gx,
                         Out ggamma, Out gbeta);
};

/// y = gamma x inv_rms, where inv_rms = 1 / sqrt(mean(x^2) + eps) over each row. x, y: (N, C), floating, of any
/// strides. gamma: (C), floating. inv_rms: (N), float64. The arithmetic is that of GroupNormalization.
struct RmsNormalization {
  static constexpr const char* kName = "rms_normalization";
  using Signature = void(Params<double> eps, In x, In gamma, Out y, Out inv_rms);
};

/// The gradients of x and gamma; ggamma has the type of the arithmetic. Either may be undefined.
struct RmsNormalizationGrad {
  static constexpr const char* kName = "rms_normalization_grad";
  using Signature = void(In x, In gamma, In inv_rms, In gy, Out gx, Out ggamma);
};

struct L2NormalizationOptions {
  double eps = 1e-5;
  AxisMask axes;
};

/// y = x / (|x| + eps), |x| being the norm over the axes. x, y: floating, of any strides. Sums are in float64.
struct L2Normalization {
  static constexpr const char* kName = "l2_normalization";
  using Signature = void(Params<L2NormalizationOptions> options, In x, Out y);
};

/// The gradient of x, the norm of a zero vector counting as constant.
struct L2NormalizationGrad {
  static constexpr const char* kName = "l2_normalization_grad";
  using Signature = void(Params<L2NormalizationOptions> options, In x, In gy, Out gx);
};

struct LocalResponseNormalizationOptions {
  int64_t reach = 2;  ///< channels on either side that count
  double k = 2;
  double alpha = 1e-4;
  double beta = 0.75;
};

/// y[c] = x[c] (k + alpha sum(x[j]^2))^-beta over the channels j with |j - c| <= reach. x, y: (N, C, ...), floating, of
/// any strides.
struct LocalResponseNormalization {
  static constexpr const char* kName = "local_response_normalization";
  using Signature = void(Params<LocalResponseNormalizationOptions> options, In x, Out y);
};

/// The gradient of x.
struct LocalResponseNormalizationGrad {
  static constexpr const char* kName = "local_response_normalization_grad";
  using Signature = void(Params<LocalResponseNormalizationOptions> options, In x, In gy, Out gx);
};

}  // namespace kusari::kernels
