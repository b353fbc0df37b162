#pragma once

#include "kusari/framework/kernels/math_incomplete_beta.h"
#include "kusari/framework/kernels/math_incomplete_gamma.h"

// kIsLong: a device compiles the formula once for each type, not in each place of use.
namespace kusari::kernels {

/// The regularized lower incomplete gamma function P(a, x).
struct Gammainc {
  static constexpr const char* kName = "gammainc";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc(a, x);
  }
};

/// The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).
struct Gammaincc {
  static constexpr const char* kName = "gammaincc";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammaincc(a, x);
  }
};

/// The derivative of Gammainc by x.
struct GammaDensity {
  static constexpr const char* kName = "gamma_density";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gamma_density(a, x);
  }
};

/// The derivative of Gammainc by a.
struct GammaincSlope {
  static constexpr const char* kName = "gammainc_slope";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc_slope(a, x, 1);
  }
};

/// The second derivative of Gammainc by a.
struct GammaincCurvature {
  static constexpr const char* kName = "gammainc_curvature";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc_slope(a, x, 2);
  }
};

/// How log z of a gamma distributed z moves with the distribution's shape a.
struct LogGammaSlope {
  static constexpr const char* kName = "log_gamma_slope";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T log_z) const {
    return km::log_gamma_slope(a, log_z);
  }
};

/// The regularized incomplete beta function I_x(a, b).
struct Betainc {
  static constexpr const char* kName = "betainc";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::betainc(a, b, x);
  }
};

/// The derivative of Betainc by x.
struct BetaDensity {
  static constexpr const char* kName = "beta_density";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::beta_density(a, b, x);
  }
};

/// The derivative of Betainc by a.
struct BetaincSlope {
  static constexpr const char* kName = "betainc_slope";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::betainc_slope(a, b, x);
  }
};

}  // namespace kusari::kernels

#define KUSARI_INCOMPLETE_FUNCTION_OPS(V) \
  V(Gammainc)                             \
  V(Gammaincc)                            \
  V(GammaDensity)                         \
  V(GammaincSlope)                        \
  V(GammaincCurvature)                    \
  V(LogGammaSlope)                        \
  V(Betainc)                              \
  V(BetaDensity)                          \
  V(BetaincSlope)
