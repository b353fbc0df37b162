#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float exp(float x) { return ::expf(x); }
KUSARI_HOST_DEVICE double exp(double x) { return ::exp(x); }
KUSARI_HOST_DEVICE float expm1(float x) { return ::expm1f(x); }
KUSARI_HOST_DEVICE double expm1(double x) { return ::expm1(x); }
KUSARI_HOST_DEVICE float log(float x) { return ::logf(x); }
KUSARI_HOST_DEVICE double log(double x) { return ::log(x); }
KUSARI_HOST_DEVICE float log2(float x) { return ::log2f(x); }
KUSARI_HOST_DEVICE double log2(double x) { return ::log2(x); }
KUSARI_HOST_DEVICE float log10(float x) { return ::log10f(x); }
KUSARI_HOST_DEVICE double log10(double x) { return ::log10(x); }
KUSARI_HOST_DEVICE float log1p(float x) { return ::log1pf(x); }
KUSARI_HOST_DEVICE double log1p(double x) { return ::log1p(x); }
KUSARI_HOST_DEVICE float log1p_of_fraction(float x) { return ::log1pf(x); }
KUSARI_HOST_DEVICE double log1p_of_fraction(double x) { return ::log1p(x); }
KUSARI_HOST_DEVICE float tanh(float x) { return ::tanhf(x); }
KUSARI_HOST_DEVICE double tanh(double x) { return ::tanh(x); }
#else
namespace detail {

/// x = n * ln 2 + r with |r| <= ln 2 / 2, n integral: expm1_r = exp(r) - 1, and the low bits of `bits` hold n + bias.
template <class T, class Bits>
struct ExpParts {
  Bits bits;
  T expm1_r;
};

template <int kBias>
KUSARI_HOST_DEVICE ExpParts<float, u32> exp_parts(float x) {
  constexpr float kMagic = 12582912.0f + kBias;  // 1.5 * 2^23: adding it rounds to an integer, found in the low bits
  const float shifted = mad(x, 1.44269504f, kMagic), n = shifted - kMagic;
  const float r = mad(n, 2.12194440e-4f, mad(n, -0.693359375f, x));  // ln 2 in two parts, the first product exact
  const float q = polynomial(r, 0.00139261976694f, 0.00836319032562f, 0.0416665545326f, 0.16666576922f, 0.5f);
  return {bit_cast<u32>(shifted), mad(q, r * r, r)};  // q: minimax of (exp(r) - 1 - r) / r^2, error 2^-23.9
}

template <int kBias>
KUSARI_HOST_DEVICE ExpParts<double, u64> exp_parts(double x) {
  constexpr double kMagic = 6755399441055744.0 + kBias;  // 1.5 * 2^52
  const double shifted = mad(x, 1.4426950408889634, kMagic), n = shifted - kMagic;
  const double r = mad(n, -1.90821492927058770002e-10, mad(n, -6.93147180369123816490e-01, x));  // as in fdlibm
  const double q = polynomial(r, 2.0914701283103283894e-9, 2.5105237050760299302e-8, 2.7557273608709006727e-7,
                              2.7557255352032672337e-6, 0.000024801587325574867791, 0.00019841269874858611788,
                              0.0013888888888883740544, 0.0083333333333261242584, 0.04166666666666666976,
                              0.16666666666666670999, 0.5);
  return {bit_cast<u64>(shifted), mad(q, r * r, r)};  // q: minimax, error 2^-59
}

/// 2^(m - 127), or 2^(m - 1023), for the m in the low bits, which must be the exponent field of a normal number.
KUSARI_HOST_DEVICE float pow2_of_field(u32 bits) { return bit_cast<float>(bits << 23); }
KUSARI_HOST_DEVICE double pow2_of_field(u64 bits) { return bit_cast<double>(bits << 52); }

/// (exp(x) - 1) / 2 for x in [-40, the largest with a finite exp], without a care for the sign of zero.
template <class T>
KUSARI_HOST_DEVICE T half_expm1(T x) {
  constexpr int kBias = sizeof(T) == 4 ? 126 : 1022;  // half, because 2^n itself overflows in the last octave
  const auto p = exp_parts<kBias>(x);
  const T half_scale = pow2_of_field(p.bits);
  return mad(half_scale, p.expm1_r, half_scale - T(0.5));
}

/// log(x) = e * ln 2 + (f + rest) with 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x.
template <class T>
struct LogParts {
  T e;
  T f;
  T rest;
};

/// The exponent e and the mantissa in [sqrt(1/2), sqrt(2)) of a positive finite number.
template <class T>
struct Split {
  T e;
  T mantissa;
};

KUSARI_HOST_DEVICE Split<float> split(float x) {
  const bool denormal = x < Real<float>::kMinNormal;
  const u32 bits = bit_cast<u32>(denormal ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);
  const float e = static_cast<float>(static_cast<i32>(bits >> 23) - 127) - (denormal ? 23.0f : 0.0f);
  return {e, bit_cast<float>((bits & 0x007fffffu) + 0x3f3504f3u)};
}

KUSARI_HOST_DEVICE Split<double> split_normal(double x) {
  const u64 bits = bit_cast<u64>(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  // No instruction before AVX512 converts 64-bit integers: the exponent becomes the low bits of 2^52 + exponent.
  const double biased = bit_cast<double>((bits >> 52) | 0x4330000000000000u) - 4503599627370496.0;
  return {biased - 1023.0, bit_cast<double>((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu)};
}

KUSARI_HOST_DEVICE Split<double> split(double x) {
  const bool denormal = x < Real<double>::kMinNormal;
  const Split<double> s = split_normal(denormal ? x * 4503599627370496.0 : x);
  return {s.e - (denormal ? 52.0 : 0.0), s.mantissa};
}

KUSARI_HOST_DEVICE LogParts<float> log_parts(float x) {
  const Split<float> s = split(x);
  const float f = s.mantissa - 1.0f, z = f * f;
  const float p = polynomial(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                             1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                             3.3333331174e-1f);  // Cephes' logf
  return {s.e, f, mad(f * z, p, -0.5f * z)};
}

KUSARI_HOST_DEVICE LogParts<double> log_parts(const Split<double>& x) {
  const double f = x.mantissa - 1.0, half_square = 0.5 * f * f;
  const double s = f / (2.0 + f), z = s * s;  // fdlibm's e_log.c
  const double t = polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                              2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                              6.666666666666735130e-01);
  return {x.e, f, mad(s, mad(t, z, half_square), -half_square)};
}
KUSARI_HOST_DEVICE LogParts<double> log_parts(double x) { return log_parts(split(x)); }

KUSARI_HOST_DEVICE float log_core(float x) {
  const LogParts<float> p = log_parts(x);
  return mad(p.e, 0.693359375f, p.f + mad(p.e, -2.12194440e-4f, p.rest));
}
KUSARI_HOST_DEVICE double log_core(const LogParts<double>& p) {
  return mad(p.e, 6.93147180369123816490e-01, p.f + mad(p.e, 1.90821492927058770002e-10, p.rest));
}
KUSARI_HOST_DEVICE double log_core(double x) { return log_core(log_parts(x)); }
/// log(x) for a normal positive number.
KUSARI_HOST_DEVICE double log_of_normal(double x) { return log_core(log_parts(split_normal(x))); }

/// The value y of a logarithm of x where x is positive and finite, and the right special value elsewhere.
template <class T>
KUSARI_HOST_DEVICE T fix_log(T x, T y) {
  y = x < Real<T>::kInfinity ? y : x;
  y = x < T(0) ? Real<T>::kNan : y;
  return x == T(0) ? -Real<T>::kInfinity : y;
}

}  // namespace detail

template <class T>
KUSARI_HOST_DEVICE T exp(T x) {
  constexpr bool kSingle = sizeof(T) == 4;
  constexpr T kLow = kSingle ? T(-104) : T(-746), kHigh = kSingle ? T(89) : T(710);  // surely 0, surely infinite
  constexpr int kBias = kSingle ? 254 : 2046;  // of the product of the two factors below
  // Masked scores are -infinity: their 0 is selected, because a product that underflows to it costs 100 cycles.
  const bool is_zero = x < kLow;
  x = is_zero ? T(0) : x;
  const auto p = detail::exp_parts<kBias>(x > kHigh ? kHigh : x);
  // 2^n in two factors, which reach infinity and the denormals with one rounding
  const auto half = p.bits >> 1;
  const T y = ((T(1) + p.expm1_r) * detail::pow2_of_field(half)) * detail::pow2_of_field(p.bits - half);
  return is_zero ? T(0) : y;
}

/// exp(x) - 1 without cancellation near 0.
template <class T>
KUSARI_HOST_DEVICE T expm1(T x) {
  constexpr bool kSingle = sizeof(T) == 4;
  constexpr T kHigh = kSingle ? T(88.72283f) : T(709.782712893384);  // the log of the largest finite number
  T clamped = x < T(-40) ? T(-40) : x;
  clamped = clamped > kHigh ? kHigh : clamped;
  T y = T(2) * detail::half_expm1(clamped);
  y = x > kHigh ? Real<T>::kInfinity : y;
  return abs(x) < T(1e-30) ? x : y;  // keeps denormals and the sign of zero
}

template <class T>
KUSARI_HOST_DEVICE T log(T x) {
  return detail::fix_log(x, detail::log_core(x));
}

template <class T>
KUSARI_HOST_DEVICE T log2(T x) {
  const detail::LogParts<T> p = detail::log_parts(x);
  constexpr T kHigh = T(1.4426950216293335), kLow = T(1.9259629911266175e-8);  // 1 / ln 2; kHigh has 24 bits
  const T m = p.f + p.rest;
  return detail::fix_log(x, p.e + detail::mad(m, kHigh, m * kLow));
}

template <class T>
KUSARI_HOST_DEVICE T log10(T x) {
  const detail::LogParts<T> p = detail::log_parts(x);
  // log10(2) with a part whose product with an exponent is exact
  const T high = p.e * T(0.301025390625), low = p.e * T(4.6050389811952137e-6);
  return detail::fix_log(x, high + (low + (p.f + p.rest) * T(0.43429448190325182765)));
}

/// log(1 + x) without loss near 0.
template <class T>
KUSARI_HOST_DEVICE T log1p(T x) {
  const T u = T(1) + x;
  const T lost = (u - T(1)) - x;  // what the rounding of 1 + x added
  const T correction = (u > T(0) && u < Real<T>::kInfinity) ? lost / u : T(0);
  return u == T(1) ? x : log(u) - correction;
}

/// log(1 + x) for x in [0, 1], without the special cases of log1p, with which a loop may not vectorise.
template <class T>
KUSARI_HOST_DEVICE T log1p_of_fraction(T x) {
  const T u = T(1) + x;
  return detail::log_core(u) - ((u - T(1)) - x) / u;
}

template <class T>
KUSARI_HOST_DEVICE T tanh(T x) {
  const T a = T(-2) * abs(x);
  const T t = detail::half_expm1(a < T(-40) ? T(-40) : a);
  return copysign(t / (T(1) + t), x);
}
#endif

/// 1 / (1 + exp(-x)).
template <class T>
KUSARI_HOST_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

}  // namespace kusari::km
