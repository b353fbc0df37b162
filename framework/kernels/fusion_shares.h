#pragma once

#include "kusari/framework/kernels/math.h"

// Formulas of the weighted mean of maps, for all backends.
namespace kusari::kernels {

/// Maps that a kernel takes.
inline constexpr int kMostFusedMaps = 3;

/// share[i] = max(w[i], 0) / (sum_j max(w[j], 0) + eps) of `maps` weights, 0 beyond.
template <class T>
struct FusionShares {
  T share[kMostFusedMaps];
  T divisor;

  KUSARI_HOST_DEVICE static FusionShares of(const T* w, int maps, double eps) {
    FusionShares result;
    result.divisor = static_cast<T>(eps);
    for (int i = 0; i < kMostFusedMaps; ++i) {
      result.share[i] = i >= maps || w[i] < T(0) ? T(0) : w[i];
      result.divisor += result.share[i];
    }
    for (int i = 0; i < kMostFusedMaps; ++i) result.share[i] /= result.divisor;
    return result;
  }
  /// gw[0 .. maps) from the gradients of the shares.
  KUSARI_HOST_DEVICE void weight_gradients(const T* w, int maps, const T* gshare, T* gw) const {
    T mean = 0;
    for (int i = 0; i < kMostFusedMaps; ++i) {
      if (i < maps) mean += gshare[i] * share[i];
    }
    for (int i = 0; i < kMostFusedMaps; ++i) {
      if (i < maps) gw[i] = w[i] > T(0) ? (gshare[i] - mean) / divisor : T(0);
    }
  }
};

}  // namespace kusari::kernels
