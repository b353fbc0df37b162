#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// counts[i, k] = 1 for each positive anchor, t >= 0, of image i, and for `ratio` times as many of its background
/// anchors, t = -1, rounded down: those with the largest losses, of equal ones the first, a NaN before all; else 0.
/// loss: (N, K), float32, 0 or more. t: (N, K), int32. counts: (N, K), float32. All C-ordered.
struct HardNegatives {
  static constexpr const char* kName = "hard_negatives";
  using Signature = void(Params<double> ratio, In loss, In t, Out counts);
};

}  // namespace kusari::kernels
