#pragma once

#include "kusari/framework/kernels/math.h"

// Formulas of the focal loss, for all backends.
namespace kusari::kernels {

struct FocalOptions {
  double alpha = 0.25;
  double gamma = 2;
};

/// The label of anchors that do not count; other negative ones are background.
inline constexpr int kFocalIgnored = -2;

/// Of a score z that should be low: p^gamma (-log(1 - p)) with p = sigmoid(z), and its derivative. One that should be
/// high is -z. There is no p so near to 0 or 1 that digits are lost.
template <class T>
struct FocalTerm {
  T gamma;

  KUSARI_HOST_DEVICE T value(T z) const {
    const T l = km::log1p_of_fraction(km::exp(-km::abs(z)));  // of the sum of 1 and the smaller odds
    return km::exp(gamma * (km::min(z, T(0)) - l)) * (km::max(z, T(0)) + l);
  }
  KUSARI_HOST_DEVICE T slope(T z) const {
    const T e = km::exp(-km::abs(z)), l = km::log1p_of_fraction(e), large = T(1) / (T(1) + e), small = e * large;
    const T p = z >= T(0) ? large : small, q = z >= T(0) ? small : large;
    return km::exp(gamma * (km::min(z, T(0)) - l)) * (gamma * q * (km::max(z, T(0)) + l) + p);
  }
};

/// The loss of a class for an anchor, and its derivative.
template <class T>
struct FocalElement {
  FocalTerm<T> term;
  T alpha;

  KUSARI_HOST_DEVICE static FocalElement of(const FocalOptions& options) {
    return {{static_cast<T>(options.gamma)}, static_cast<T>(options.alpha)};
  }
  KUSARI_HOST_DEVICE T value(T x, bool is_positive) const {
    return is_positive ? alpha * term.value(-x) : (T(1) - alpha) * term.value(x);
  }
  KUSARI_HOST_DEVICE T slope(T x, bool is_positive) const {
    return is_positive ? -alpha * term.slope(-x) : (T(1) - alpha) * term.slope(x);
  }
};

}  // namespace kusari::kernels
