#pragma once

#include "kusari/framework/kernels/math_gamma.h"
#include "kusari/framework/kernels/math_incomplete_beta.h"
#include "kusari/framework/kernels/math_incomplete_gamma.h"
#include "kusari/framework/kernels/math_incomplete_inverse.h"

// Functions that are computed element by element, because each element needs another number of steps: vectors do not
// help the CPU.
// kHasSteps: so do threads of a device, and the formula is compiled once for each type, not in each place of use.
namespace kusari::kernels {

/// The n-th derivative of digamma.
struct Polygamma {
  static constexpr const char* kName = "polygamma";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T n, T x) const {
    return km::polygamma(n, x);
  }
};

/// The Hurwitz zeta function.
struct Zeta {
  static constexpr const char* kName = "zeta";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T q) const {
    return km::zeta(x, q);
  }
};

/// The regularized lower incomplete gamma function P(a, x).
struct Gammainc {
  static constexpr const char* kName = "gammainc";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc(a, x);
  }
};

/// The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).
struct Gammaincc {
  static constexpr const char* kName = "gammaincc";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammaincc(a, x);
  }
};

/// The derivative of Gammainc by x.
struct GammaDensity {
  static constexpr const char* kName = "gamma_density";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gamma_density(a, x);
  }
};

/// The derivative of Gammainc by a.
struct GammaincSlope {
  static constexpr const char* kName = "gammainc_slope";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc_slope(a, x, 1);
  }
};

/// The second derivative of Gammainc by a.
struct GammaincCurvature {
  static constexpr const char* kName = "gammainc_curvature";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T x) const {
    return km::gammainc_slope(a, x, 2);
  }
};

/// How log z of a gamma distributed z moves with the distribution's shape a.
struct LogGammaSlope {
  static constexpr const char* kName = "log_gamma_slope";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T log_z) const {
    return km::log_gamma_slope(a, log_z);
  }
};

/// The regularized incomplete beta function I_x(a, b).
struct Betainc {
  static constexpr const char* kName = "betainc";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::betainc(a, b, x);
  }
};

/// The derivative of Betainc by x.
struct BetaDensity {
  static constexpr const char* kName = "beta_density";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::beta_density(a, b, x);
  }
};

/// The derivative of Betainc by a.
struct BetaincSlope {
  static constexpr const char* kName = "betainc_slope";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T x) const {
    return km::betainc_slope(a, b, x);
  }
};

/// The x with Gammainc(a, x) = p.
struct Gammaincinv {
  static constexpr const char* kName = "gammaincinv";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T p) const {
    return km::gammaincinv(a, p);
  }
};

/// The x with Betainc(a, b, x) = p.
struct Betaincinv {
  static constexpr const char* kName = "betaincinv";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T a, T b, T p) const {
    return km::betaincinv(a, b, p);
  }
};

/// The first number of a Poisson distribution of mean lam up to which the share p lies.
struct PoissonQuantile {
  static constexpr const char* kName = "poisson_quantile";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T lam, T p) const {
    return km::poisson_quantile(lam, p);
  }
};

/// The entropy of a Poisson distribution of mean lam.
struct PoissonEntropy {
  static constexpr const char* kName = "poisson_entropy";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T lam) const {
    return km::poisson_entropy(lam, 0);
  }
};

/// The derivative of PoissonEntropy.
struct PoissonEntropySlope {
  static constexpr const char* kName = "poisson_entropy_slope";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T lam) const {
    return km::poisson_entropy(lam, 1);
  }
};

/// The second derivative of PoissonEntropy.
struct PoissonEntropyCurvature {
  static constexpr const char* kName = "poisson_entropy_curvature";
  static constexpr bool kHasSteps = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T lam) const {
    return km::poisson_entropy(lam, 2);
  }
};

}  // namespace kusari::kernels

#define KUSARI_SCALAR_FUNCTION_OPS(V) \
  V(Polygamma)                        \
  V(Zeta)                             \
  V(Gammainc)                         \
  V(Gammaincc)                        \
  V(GammaDensity)                     \
  V(GammaincSlope)                    \
  V(GammaincCurvature)                \
  V(LogGammaSlope)                    \
  V(Betainc)                          \
  V(BetaDensity)                      \
  V(BetaincSlope)                     \
  V(Gammaincinv)                      \
  V(Betaincinv)                       \
  V(PoissonQuantile)                  \
  V(PoissonEntropy)                   \
  V(PoissonEntropySlope)              \
  V(PoissonEntropyCurvature)
