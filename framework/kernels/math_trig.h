#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"

namespace kusari::km {

/// The magnitude up to which the inlined sin, cos and tan are accurate; beyond it loops on the CPU call the C library.
template <class T>
KUSARI_HOST_DEVICE bool is_large_angle(T x) {
  return abs(x) > T(1.6e6);
}

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float sin(float x) { return ::sinf(x); }
KUSARI_HOST_DEVICE double sin(double x) { return ::sin(x); }
KUSARI_HOST_DEVICE float cos(float x) { return ::cosf(x); }
KUSARI_HOST_DEVICE double cos(double x) { return ::cos(x); }
KUSARI_HOST_DEVICE float tan(float x) { return ::tanf(x); }
KUSARI_HOST_DEVICE double tan(double x) { return ::tan(x); }
KUSARI_HOST_DEVICE float tan_of_large(float x) { return ::tanf(x); }
KUSARI_HOST_DEVICE double tan_of_large(double x) { return ::tan(x); }
KUSARI_HOST_DEVICE float sin_of_large(float x) { return ::sinf(x); }
KUSARI_HOST_DEVICE double sin_of_large(double x) { return ::sin(x); }
KUSARI_HOST_DEVICE float cos_of_large(float x) { return ::cosf(x); }
KUSARI_HOST_DEVICE double cos_of_large(double x) { return ::cos(x); }
#else
namespace detail {

/// x = (4 k + quadrant) * pi / 2 + r + tail with |r| <= pi / 4; `quadrant` carries garbage above its two low bits.
template <class T, class Int>
struct Angle {
  Int quadrant;
  T r;
  T tail;
};

constexpr double kPio2High = 1.57079632673412561417e+00;  // fdlibm: the first 33 bits of pi / 2, products with n exact

/// The angle of a float32 number with the rest in float64.
struct WideAngle {
  u64 quadrant;
  double r;
};
KUSARI_HOST_DEVICE WideAngle reduce_angle_wide(float x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0.63661977236758134 + kMagic, n = shifted - kMagic;
  return {bit_cast<u64>(shifted), (wide - n * kPio2High) - n * 6.07710050650619224932e-11};
}

KUSARI_HOST_DEVICE Angle<float, u32> reduce_angle(float x) {
  const WideAngle a = reduce_angle_wide(x);
  return {static_cast<u32>(a.quadrant), static_cast<float>(a.r), 0.0f};
}

KUSARI_HOST_DEVICE Angle<double, u64> reduce_angle(double x) {
  constexpr double kMagic = 6755399441055744.0;
  const double shifted = x * 0.63661977236758134 + kMagic, n = shifted - kMagic;
  const double t = x - n * kPio2High, w = n * 6.07710050630396597660e-11;  // both products are exact
  const double y = t - w, lost = (t - y) - w;
  const double low = lost - n * 2.02226624879595063154e-21;
  const double r = y + low;
  return {bit_cast<u64>(shifted), r, (y - r) + low};
}

KUSARI_HOST_DEVICE float sin_kernel(float x, float) {
  const float z = x * x;
  return mad(polynomial(z, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f), z * x, x);  // Cephes
}
KUSARI_HOST_DEVICE float cos_kernel(float x, float) {
  const float z = x * x;
  return mad(polynomial(z, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f), z * z,
             mad(-0.5f, z, 1.0f));
}

KUSARI_HOST_DEVICE double sin_kernel(double x, double y) {  // fdlibm's k_sin.c
  const double z = x * x, v = z * x;
  const double r = polynomial(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                              -1.98412698298579493134e-04, 8.33333333332248946124e-03);
  return x - ((z * (0.5 * y - v * r) - y) + v * 1.66666666666666324348e-01);
}
KUSARI_HOST_DEVICE double cos_kernel(double x, double y) {  // fdlibm's k_cos.c
  const double z = x * x;
  const double r =
      z * polynomial(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                     2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02);
  const double half = 0.5 * z, w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * r - x * y));
}

/// The sine of quadrant * pi / 2 + r + tail.
template <class T, class Int>
KUSARI_HOST_DEVICE T sin_of(const Angle<T, Int>& a) {
  constexpr int kSignBit = sizeof(T) * 8 - 1;
  const T s = sin_kernel(a.r, a.tail), c = cos_kernel(a.r, a.tail);
  const T y = (a.quadrant & 1) != 0 ? c : s;
  return bit_cast<T>(bit_cast<Int>(y) ^ ((a.quadrant & 2) << (kSignBit - 1)));
}

}  // namespace detail

template <class T>
KUSARI_HOST_DEVICE T sin(T x) {
  const T y = detail::sin_of(detail::reduce_angle(x));
  return x == T(0) ? x : y;
}

template <class T>
KUSARI_HOST_DEVICE T cos(T x) {
  auto a = detail::reduce_angle(x);
  a.quadrant += 1;
  return detail::sin_of(a);
}

KUSARI_HOST_DEVICE float tan(float x) {
  const auto [quadrant, r] = detail::reduce_angle_wide(x);
  // In float64: a quotient of rounded sine and cosine would be off by several units.
  const double z = r * r;
  const double s = detail::polynomial(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1) * z * r + r;
  const double c = detail::polynomial(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2) * (z * z) +
                   (1.0 - 0.5 * z);
  const bool turned = (quadrant & 1) != 0;
  const float y = static_cast<float>((turned ? -c : s) / (turned ? s : c));
  return x == 0.0f ? x : y;
}
KUSARI_HOST_DEVICE double tan(double x) { return __builtin_tan(x); }

/// sin, cos and tan of any argument, by the C library.
KUSARI_HOST_DEVICE float tan_of_large(float x) { return __builtin_tanf(x); }
KUSARI_HOST_DEVICE double tan_of_large(double x) { return __builtin_tan(x); }
KUSARI_HOST_DEVICE float sin_of_large(float x) { return __builtin_sinf(x); }
KUSARI_HOST_DEVICE double sin_of_large(double x) { return __builtin_sin(x); }
KUSARI_HOST_DEVICE float cos_of_large(float x) { return __builtin_cosf(x); }
KUSARI_HOST_DEVICE double cos_of_large(double x) { return __builtin_cos(x); }
#endif

}  // namespace kusari::km
