#pragma once

#include "kusari/framework/kernels/math.h"

namespace kusari::kernels {

/// max(x, 0); NaN stays NaN.
struct Relu {
  static constexpr const char* kName = "relu";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};

/// 0 at 0. y is the result (or the argument) of relu.
struct ReluGrad {
  static constexpr const char* kName = "relu_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T y, T gy) const {
    return y > T(0) ? gy : T(0);
  }
};

struct LeakyRelu {
  static constexpr const char* kName = "leaky_relu";
  double slope;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x >= T(0) ? x : static_cast<T>(slope) * x;
  }
};

/// Chainer's choice at 0 is the slope from below.
struct LeakyReluGrad {
  static constexpr const char* kName = "leaky_relu_grad";
  double slope;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return x <= T(0) ? static_cast<T>(slope) * gy : gy;
  }
};

/// x for x >= 0, w x below.
struct Prelu {
  static constexpr const char* kName = "prelu";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T w) const {
    return x >= T(0) ? x : w * x;
  }
};

/// For x.
struct PreluGrad {
  static constexpr const char* kName = "prelu_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T w, T gy) const {
    return x >= T(0) ? gy : w * gy;
  }
};

/// v where x < 0 (or NaN), else 0.
struct NegativeSide {
  static constexpr const char* kName = "negative_side";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T v) const {
    return x >= T(0) ? T(0) : v;
  }
};

/// min(max(x, 0), z).
struct ClippedRelu {
  static constexpr const char* kName = "clipped_relu";
  double z;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::min(km::max(x, T(0)), static_cast<T>(z));
  }
};

/// 0 at both edges.
struct ClippedReluGrad {
  static constexpr const char* kName = "clipped_relu_grad";
  double z;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return (x > T(0) && x < static_cast<T>(z)) ? gy : T(0);
  }
};

/// x for x >= 0, alpha (exp(x) - 1) below.
struct Elu {
  static constexpr const char* kName = "elu";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x >= T(0) ? x : static_cast<T>(alpha) * km::expm1(x);
  }
};

/// Chainer's choice at 0 is the slope from below, alpha.
struct EluGrad {
  static constexpr const char* kName = "elu_grad";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return x > T(0) ? gy : gy * static_cast<T>(alpha) * km::exp(x);
  }
};

struct Sigmoid {
  static constexpr const char* kName = "sigmoid";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::sigmoid(x);
  }
};

/// With y = sigmoid(x).
struct SigmoidGrad {
  static constexpr const char* kName = "sigmoid_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T y, T gy) const {
    return gy * y * (T(1) - y);
  }
};

struct Tanh {
  static constexpr const char* kName = "tanh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::tanh(x);
  }
};

/// With y = tanh(x).
struct TanhGrad {
  static constexpr const char* kName = "tanh_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T y, T gy) const {
    return gy * (T(1) - y * y);
  }
};

/// alpha x + beta limited to [0, 1].
struct HardSigmoid {
  static constexpr const char* kName = "hard_sigmoid";
  double alpha = 0.2;
  double beta = 0.5;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::min(km::max(static_cast<T>(alpha) * x + static_cast<T>(beta), T(0)), T(1));
  }
};

/// 0 at both edges.
struct HardSigmoidGrad {
  static constexpr const char* kName = "hard_sigmoid_grad";
  double alpha = 0.2;
  double beta = 0.5;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T y = static_cast<T>(alpha) * x + static_cast<T>(beta);
    return (y > T(0) && y < T(1)) ? static_cast<T>(alpha) * gy : T(0);
  }
};

/// x (x / 6 + 1/2), limited to the line 0 below -3 and x above 3. Howard et al. 2019.
struct HardSwish {
  static constexpr const char* kName = "hard_swish";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x * km::min(km::max(x * T(1.0 / 6) + T(0.5), T(0)), T(1));
  }
};

/// That of the lines at both edges.
struct HardSwishGrad {
  static constexpr const char* kName = "hard_swish_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T slope = x * T(1.0 / 3) + T(0.5);
    return x <= T(-3) ? T(0) : (x >= T(3) ? gy : slope * gy);
  }
};

/// x tanh(log(1 + exp(x))), where tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2). Misra 2019.
struct Mish {
  static constexpr const char* kName = "mish";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    const T e = km::exp(km::min(x, T(20)));  // from there on the factor rounds to 1
    const T n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }
};

struct MishGrad {
  static constexpr const char* kName = "mish_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T e = km::exp(km::min(x, T(20)));
    const T n = e * (e + T(2));
    const T t = n / (n + T(2));
    return gy * (t + x * (T(1) - t * t) * km::sigmoid(x));
  }
};

/// x for x >= 0, alpha (exp(x / alpha) - 1) below. Barron 2017.
struct Celu {
  static constexpr const char* kName = "celu";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x >= T(0) ? x : static_cast<T>(alpha) * km::expm1(x / static_cast<T>(alpha));
  }
};

struct CeluGrad {
  static constexpr const char* kName = "celu_grad";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return x > T(0) ? gy : gy * km::exp(x / static_cast<T>(alpha));
  }
};

/// x above alpha, else 0; NaN stays NaN.
struct ThresholdedRelu {
  static constexpr const char* kName = "thresholded_relu";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x <= static_cast<T>(alpha) ? T(0) : x;
  }
};

struct ThresholdedReluGrad {
  static constexpr const char* kName = "thresholded_relu_grad";
  double alpha;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return x > static_cast<T>(alpha) ? gy : T(0);
  }
};

/// x + bias below -lambd, x - bias above lambd, 0 between; NaN stays NaN.
struct Shrink {
  static constexpr const char* kName = "shrink";
  double lambd;
  double bias;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    const T l = static_cast<T>(lambd), b = static_cast<T>(bias);
    const T inside = x == x ? T(0) : x;
    return x < -l ? x + b : (x > l ? x - b : inside);
  }
};

struct ShrinkGrad {
  static constexpr const char* kName = "shrink_grad";
  double lambd;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T l = static_cast<T>(lambd);
    return (x < -l || x > l) ? gy : T(0);
  }
};

/// x - tanh(x), which cancels near 0: there by tanh's continued fraction, x / (1 + x^2 / (3 + x^2 / (5 + ..))), cut off
/// behind 17.
struct Tanhshrink {
  static constexpr const char* kName = "tanhshrink";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    const T t = x * x;
    const T above = ((T(44) * t + T(12870)) * t + T(810810)) * t + T(11486475);
    const T below = (((T(45) * t + T(13860)) * t + T(945945)) * t + T(16216200)) * t + T(34459425);
    return t < T(1) ? x * t * above / below : x - km::tanh(x);
  }
};
struct TanhshrinkGrad {
  static constexpr const char* kName = "tanhshrink_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T t = km::tanh(x);
    return gy * (t * t);
  }
};

/// log(1 + exp(beta x)) / beta.
struct Softplus {
  static constexpr const char* kName = "softplus";
  double beta;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    const T b = static_cast<T>(beta), bx = b * x;
    return (km::max(bx, T(0)) + km::log1p_of_fraction(km::exp(-km::abs(bx)))) / b;  // no positive exponent
  }
};

/// x sigmoid(beta x).
struct Swish {
  static constexpr const char* kName = "swish";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T beta) const {
    return x * km::sigmoid(beta * x);
  }
};

/// For x.
struct SwishGrad {
  static constexpr const char* kName = "swish_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T beta, T gy) const {
    const T s = km::sigmoid(beta * x);
    return gy * (s + beta * (x * s * (T(1) - s)));  // beta x may be infinite
  }
};

/// For beta, one term per element.
struct SwishBetaGrad {
  static constexpr const char* kName = "swish_beta_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T beta, T gy) const {
    const T s = km::sigmoid(beta * x);
    return gy * (x * (x * s * (T(1) - s)));  // x x may be infinite
  }
};

/// The integral of the normal density from minus infinity to x; bell: exp(-x^2 / 2).
#if KUSARI_ON_GPU
template <class T>
KUSARI_HOST_DEVICE T normal_cdf(T x, T) {
  return T(0.5) * (T(1) + km::erf(x * T(0.70710678118654752)));
}
#else
KUSARI_HOST_DEVICE double normal_cdf(double x, double) { return 0.5 * (1 + km::erf(x * 0.70710678118654752)); }
KUSARI_HOST_DEVICE float normal_cdf(float x, float bell) {
  const float t = 1.0f / (1.0f + 0.28125f * km::abs(x));
  const float s = (t < 0.353402f ? 0.353402f : t) - 0.676701f;
  // The integral from |x| on, over the bell: minimax on [0, 6.5], relative error 2^-28.
  const float tail =
      bell * km::detail::polynomial(s, 0.0441379845f, 0.00109761464f, -0.12004447f, -0.0422723629f, 0.343489975f,
                                    0.747109592f, 0.834480524f, 0.602904916f, 0.189141512f);
  return x < 0.0f ? tail : 1.0f - tail;
}
#endif

/// x times the normal distribution's function of x. Hendrycks and Gimpel 2016.
struct Gelu {
  static constexpr const char* kName = "gelu";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x * normal_cdf(x, km::exp(T(-0.5) * x * x));
  }
};

struct GeluGrad {
  static constexpr const char* kName = "gelu_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T bell = km::exp(T(-0.5) * x * x);
    return gy * (normal_cdf(x, bell) + x * bell * T(0.39894228040143268));
  }
};

/// The approximation of Gelu that GPT-2 has.
struct GeluTanh {
  static constexpr const char* kName = "gelu_tanh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return T(0.5) * x * (T(1) + km::tanh(T(0.79788456080286536) * (x + T(0.044715) * x * x * x)));
  }
};

struct GeluTanhGrad {
  static constexpr const char* kName = "gelu_tanh_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T given, T gy) const {
    const T x = km::min(km::max(given, T(-30)), T(30));  // the slope is 0 or 1 beyond, and powers are no number there
    const T t = km::tanh(T(0.79788456080286536) * (x + T(0.044715) * x * x * x));
    const T slope = T(0.79788456080286536) * (T(1) + T(3 * 0.044715) * x * x);
    return gy * T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope);
  }
};

struct Silu {
  static constexpr const char* kName = "silu";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x * km::sigmoid(x);
  }
};

struct SiluGrad {
  static constexpr const char* kName = "silu_grad";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    const T s = km::sigmoid(x);
    return gy * s * (T(1) + x * (T(1) - s));
  }
};

/// What is left of x when it is stored as an integer in [low, high]; halves round to the even integer. NaN stays NaN.
struct FakeQuantize {
  static constexpr const char* kName = "fake_quantize";
  double low;
  double high;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T scale, T zero) const {
    const T q = km::rint(x / scale) + zero;
    const T above = q < static_cast<T>(low) ? static_cast<T>(low) : q;
    const T inside = above > static_cast<T>(high) ? static_cast<T>(high) : above;
    return (inside - zero) * scale;
  }
};
/// The integer of FakeQuantize. NaN becomes `low`.
struct Quantize {
  static constexpr const char* kName = "quantize";
  double low;
  double high;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T scale, T zero) const {
    const T q = km::rint(x / scale) + zero;
    const T above = q > static_cast<T>(low) ? q : static_cast<T>(low);
    return above > static_cast<T>(high) ? static_cast<T>(high) : above;
  }
};
/// What an integer of Quantize stands for.
struct Dequantize {
  static constexpr const char* kName = "dequantize";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T q, T scale, T zero) const {
    return (q - zero) * scale;
  }
};
/// 1 where FakeQuantize does not cut x off, else 0.
struct FakeQuantizeMask {
  static constexpr const char* kName = "fake_quantize_mask";
  double low;
  double high;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T scale, T zero) const {
    const T q = km::rint(x / scale) + zero;
    return (q >= static_cast<T>(low) && q <= static_cast<T>(high)) ? T(1) : T(0);
  }
};

}  // namespace kusari::kernels

#define KUSARI_ACTIVATION_OPS(V) \
  V(Relu)                        \
  V(ReluGrad)                    \
  V(LeakyRelu)                   \
  V(LeakyReluGrad)               \
  V(Prelu)                       \
  V(PreluGrad)                   \
  V(NegativeSide)                \
  V(ClippedRelu)                 \
  V(ClippedReluGrad)             \
  V(Elu)                         \
  V(EluGrad)                     \
  V(Sigmoid)                     \
  V(SigmoidGrad)                 \
  V(Tanh)                        \
  V(TanhGrad)                    \
  V(HardSigmoid)                 \
  V(HardSigmoidGrad)             \
  V(HardSwish)                   \
  V(HardSwishGrad)               \
  V(Mish)                        \
  V(MishGrad)                    \
  V(Celu)                        \
  V(CeluGrad)                    \
  V(ThresholdedRelu)             \
  V(ThresholdedReluGrad)         \
  V(Shrink)                      \
  V(ShrinkGrad)                  \
  V(Tanhshrink)                  \
  V(TanhshrinkGrad)              \
  V(Softplus)                    \
  V(Swish)                       \
  V(SwishGrad)                   \
  V(SwishBetaGrad)               \
  V(Gelu)                        \
  V(GeluGrad)                    \
  V(GeluTanh)                    \
  V(GeluTanhGrad)                \
  V(Silu)                        \
  V(SiluGrad)                    \
  V(FakeQuantize)                \
  V(Quantize)                    \
  V(Dequantize)                  \
  V(FakeQuantizeMask)
