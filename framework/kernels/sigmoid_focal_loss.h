#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/focal_terms.h"

namespace kusari::kernels {

/// Anchors of an image whose losses are summed together.
inline constexpr int64_t kFocalRows = 256;

/// sums[i, p] = the focal losses of all classes of anchors [p kFocalRows, (p + 1) kFocalRows) of image i, see
/// F::sigmoid_focal_loss. x: (N, K, C), floating, C-ordered. t: (N, K), int32, C-ordered. sums: (N, K / kFocalRows,
/// rounded up), float64 for float64 x, else float32.
struct SigmoidFocalLoss {
  static constexpr const char* kName = "sigmoid_focal_loss";
  using Signature = void(Params<FocalOptions> options, In x, In t, Out sums);
};

/// gx[i] = factor[i] times the derivatives of the losses of image i. factor: (N), of the dtype of the sums. gx: like x.
struct SigmoidFocalLossGrad {
  static constexpr const char* kName = "sigmoid_focal_loss_grad";
  using Signature = void(Params<FocalOptions> options, In x, In t, In factor, Out gx);
};

}  // namespace kusari::kernels
