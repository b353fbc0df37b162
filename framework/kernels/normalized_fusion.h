#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/fusion_shares.h"

namespace kusari::kernels {

/// y = silu(sum_i share_i x_i), the shares those of w, see F::normalized_fusion_silu. x0, x1, x2 (or undefined), y:
/// floating, of one shape, dtype and dense order in memory. w: (2 or 3), C-ordered, float64 for float64 maps, else
/// float32. Arithmetic is in w's dtype.
struct NormalizedFusionSilu {
  static constexpr const char* kName = "normalized_fusion_silu";
  using Signature = void(Params<double> eps, In x0, In x1, In x2, In w, Out y);
};

/// The gradients of the maps and of w, any of them undefined if nobody wants it, from that of y. gy, gx0, gx1, gx2:
/// like the maps; gw: like w. The terms of gw are summed in an order that depends on their number alone.
struct NormalizedFusionSiluGrad {
  static constexpr const char* kName = "normalized_fusion_silu_grad";
  using Signature = void(Params<double> eps, In x0, In x1, In x2, In w, In gy, Out gx0, Out gx1, Out gx2, Out gw);
};

}  // namespace kusari::kernels
