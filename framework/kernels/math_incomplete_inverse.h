#pragma once

#include "kusari/framework/kernels/math_incomplete_beta.h"
#include "kusari/framework/kernels/math_normal.h"

// Where gamma, beta and Poisson distributions reach a share, and the entropy of the last. In float64 throughout. Not
// part of math.h, because few formulas want them.

namespace kusari::km {

namespace detail {

/// A search for the zero of an increasing function, between `low` and `high`, by steps of Newton's method: one that
/// leaves what is known is replaced by the middle of it.
struct ZeroSearch {
  double low, high;
  double step = Real<double>::kInfinity;  // the last one
  bool is_done = false;

  /// The place after `at`, where the function is `value` and grows by `slope`.
  KUSARI_HOST_DEVICE double next(double at, double value, double slope) {
    (value < 0.0 ? low : high) = at;
    const double before = abs(step);
    step = -value / slope;
    if (!(at + step >= low && at + step <= high)) step = low + 0.5 * (high - low) - at;
    // Steps that are small and do not shrink are those of rounding.
    is_done = abs(step) <= 0x1p-52 || (abs(step) < 1e-8 && abs(step) >= 0.5 * before);
    return at + step;
  }
};

/// Newton's method takes about eight steps, bisection sixty.
inline constexpr int kMostSteps = 100;

/// How far the logarithm of a share is above that of p; or, for p above 1/2, that of the rest below that of 1 - p.
KUSARI_HOST_DEVICE double log_excess(double below, double above, double p) {
  return p <= 0.5 ? log(below / p) : log((1.0 - p) / above);
}

}  // namespace detail

/// The x with gammainc(a, x) = p, for finite a > 0 and p in [0, 1]; otherwise NaN.
KUSARI_LONG_HOST_DEVICE double gammaincinv(double a, double p) {
  if (!(a > 0.0) || a == Real<double>::kInfinity || !(p >= 0.0) || !(p <= 1.0)) return Real<double>::kNan;
  if (p == 0.0) return 0.0;
  if (p == 1.0) return Real<double>::kInfinity;
  const double least = (log(p) + lgamma(a + 1.0)) / a;  // P(a, x) <= x^a / gamma(a + 1)
  if (least < -745.0) return 0.0;
  // By log x: shares are log-concave in it, so that Newton's steps come from one side.
  detail::ZeroSearch search{least - 1e-9, 710.0};
  double u = min(max(digamma(a) + ndtri(p) * sqrt(polygamma(1.0, a)), least), 709.0), x = exp(u);
  for (int k = 0; k < detail::kMostSteps && !search.is_done; ++k) {
    const detail::GammaShares shares = detail::gamma_shares(a, x);
    const double slope = a * detail::gamma_front(a, x) / (p <= 0.5 ? shares.below : shares.above);
    u = search.next(u, detail::log_excess(shares.below, shares.above, p), slope);
    x = abs(search.step) < 1e-3 ? x + x * expm1(search.step) : exp(u);  // few digits of x are in a large logarithm
  }
  return x;
}

/// The x with betainc(a, b, x) = p, for finite a, b > 0 and p in [0, 1]; otherwise NaN. One below 1e-303 is 0.
KUSARI_LONG_HOST_DEVICE double betaincinv(double a, double b, double p) {
  if (!detail::are_beta_arguments(a, b, p)) return Real<double>::kNan;
  if (p == 0.0 || p == 1.0) return p;
  // By log(x / (1 - x)), for the same reason.
  detail::ZeroSearch search{-700.0, 700.0};
  const double spread = sqrt(polygamma(1.0, a) + polygamma(1.0, b));
  double u = min(max(digamma(a) - digamma(b) + ndtri(p) * spread, -700.0), 700.0), x = 0.0;
  for (int k = 0; k < detail::kMostSteps && !search.is_done; ++k) {
    x = 1.0 / (1.0 + exp(-u));
    const double y = 1.0 / (1.0 + exp(u));
    const detail::BetaShares shares = detail::beta_shares(a, b, x, y);
    const double slope = detail::beta_front(a, b, x, y) / (p <= 0.5 ? shares.below : shares.above);
    u = search.next(u, detail::log_excess(shares.below, shares.above, p), slope);
  }
  return u < -699.0 ? 0.0 : 1.0 / (1.0 + exp(-u));
}

/// Whether at least the share p of a Poisson distribution lies up to k.
template <class T>
KUSARI_HOST_DEVICE bool poisson_reaches(double k, double mean, T p) {
  return static_cast<T>(gammaincc(k + 1.0, mean)) >= p;
}

/// The first number k of a Poisson distribution of mean `lam` up to which at least the share p lies, as gammaincc of
/// the type T tells it; for finite lam >= 0 and p in [0, 1], otherwise NaN.
template <class T>
KUSARI_HOST_DEVICE T poisson_quantile(T lam, T p) {
  if (!(lam >= T{0}) || isinf(lam) || !(p >= T{0}) || !(p <= T{1})) return Real<T>::kNan;
  if (lam == T{0} || p == T{0}) return T{0};
  if (p == T{1}) return Real<T>::kInfinity;
  const double mean = lam;
  double width = 1.0 + 0.1 * sqrt(mean), high = max(0.0, floor(mean + ndtri(static_cast<double>(p)) * sqrt(mean)));
  double low = high;  // then: not reached at low, but at high
  for (; low >= 0.0 && poisson_reaches(low, mean, p); width *= 2.0) {
    high = low;
    low = low == 0.0 ? -1.0 : max(0.0, floor(low - width));
  }
  for (; high == low || (low >= 0.0 && !poisson_reaches(high, mean, p)); width *= 2.0) {
    low = high;
    high = ceil(high + width);
  }
  while (high - low > 1.0) {
    const double middle = floor(low + 0.5 * (high - low));
    if (middle == low || middle == high) break;  // from 2^53 on
    (poisson_reaches(middle, mean, p) ? high : low) = middle;
  }
  return static_cast<T>(high);
}

/// The entropy of a Poisson distribution of mean lam >= 0 (order 0), its first derivative by lam (order 1), or the
/// second.
KUSARI_LONG_HOST_DEVICE double poisson_entropy(double lam, int order) {
  if (!(lam >= 0.0)) return Real<double>::kNan;
  if (lam == 0.0) return order == 0 ? 0.0 : order == 1 ? Real<double>::kInfinity : -Real<double>::kInfinity;
  if (lam == Real<double>::kInfinity) return order == 0 ? lam : 0.0;
  const double z = 1.0 / lam;
  if (lam >= 1000.0) {  // J. A. Evans and others: log(2 pi e lam) / 2 and powers of 1 / lam
    if (order == 0)
      return 1.41893853320467274178 + 0.5 * log(lam) - z * detail::horner(z, 19.0 / 360, 1.0 / 24, 1.0 / 12);
    if (order == 1) return 0.5 * z + z * z * detail::horner(z, 19.0 / 120, 1.0 / 12, 1.0 / 12);
    return -0.5 * z * z - z * z * z * detail::horner(z, 19.0 / 30, 1.0 / 4, 1.0 / 6);
  }
  // Sums over weights w of numbers k, 1 at the most frequent one, upwards and then downwards from it.
  const double mode = floor(lam);
  double total = 0.0, sum = 0.0;
  for (int direction = 1; direction >= -1; direction -= 2) {
    double k = direction > 0 ? mode : mode - 1.0, w = direction > 0 ? 1.0 : mode / lam;
    for (; k >= 0.0 && w > 1e-40; k += direction) {
      total += w;
      sum += w * (order == 0 ? -log(w) : order == 1 ? log((k + 1.0) / lam) : log1p(1.0 / (k + 1.0)));
      w *= direction > 0 ? lam / (k + 1.0) : k / lam;
    }
  }
  const double mean = sum / total;
  return order == 0 ? log(total) + mean : order == 1 ? mean : mean - z;
}

KUSARI_HOST_DEVICE float gammaincinv(float a, float p) {
  return static_cast<float>(gammaincinv(static_cast<double>(a), static_cast<double>(p)));
}
KUSARI_HOST_DEVICE float betaincinv(float a, float b, float p) {
  return static_cast<float>(betaincinv(static_cast<double>(a), static_cast<double>(b), static_cast<double>(p)));
}
KUSARI_HOST_DEVICE float poisson_entropy(float lam, int order) {
  return static_cast<float>(poisson_entropy(static_cast<double>(lam), order));
}

}  // namespace kusari::km
