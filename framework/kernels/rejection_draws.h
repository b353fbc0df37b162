#pragma once

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/math.h"
#include "kusari/framework/kernels/philox_numbers.h"

// The samplers of rejection_sampling.h for one element, alike on every device.
namespace kusari::km {

/// The first plane of those that a place of the stream has for itself; uniform and normal numbers use the planes below,
/// of which four places share a block.
constexpr u32 kOwnPlanes = 8;

/// Uniform numbers of float64 that belong to one place of the stream: as many as are asked for.
class PlaceNumbers {
 public:
  KUSARI_HOST_DEVICE PlaceNumbers(u64 seed, u64 place) : seed_{seed}, place_{place} {}

  /// In [0, 1).
  KUSARI_HOST_DEVICE double uniform() {
    is_second_ = !is_second_;
    if (is_second_) {
      block_ = philox_block(seed_, place_, plane_++);
      return uniform_from(block_.word[0], block_.word[1]);
    }
    return uniform_from(block_.word[2], block_.word[3]);
  }
  /// In (0, 1).
  KUSARI_HOST_DEVICE double positive_uniform() { return uniform() + 0x1p-54; }
  KUSARI_HOST_DEVICE double normal() {
    const double radius = normal_radius(positive_uniform());
    return radius * cos(normal_angle(uniform()));
  }

 private:
  u64 seed_, place_;
  PhiloxBlock block_ = {};
  u32 plane_ = kOwnPlanes;
  bool is_second_ = false;  // whether the block has another number
};

/// log z for a gamma distributed z of shape a and scale 1: Marsaglia and Tsang 2000; below 1 by the shape a + 1.
KUSARI_HOST_DEVICE double log_gamma_draw(PlaceNumbers numbers, double a) {
  if (!(a > 0.0)) return Real<double>::kNan;
  if (a == Real<double>::kInfinity) return a;
  const double boost = a < 1.0 ? log(numbers.positive_uniform()) / a : 0.0;
  const double d = (a < 1.0 ? a + 1.0 : a) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    const double n = numbers.normal(), root = 1.0 + c * n, u = numbers.positive_uniform();
    if (root <= 0.0) continue;
    const double v = root * root * root, log_v = log(v);
    if (log(u) < 0.5 * n * n + d * (1.0 - v + log_v)) return log(d) + log_v + boost;
  }
}

/// A Poisson distributed number of mean l.
KUSARI_HOST_DEVICE double poisson_draw(PlaceNumbers numbers, double l) {
  if (!(l >= 0.0)) return Real<double>::kNan;
  if (l == Real<double>::kInfinity) return l;
  if (l < 10.0) {
    // The first k whose running sum of probabilities is above a uniform number. Rounding may leave it above all sums.
    const double u = numbers.uniform();
    double k = 0.0, p = exp(-l), sum = p;
    for (; u >= sum && k < 200.0; sum += p) {
      k += 1.0;
      p *= l / k;
    }
    return k;
  }
  // Hörmann 1993, "The transformed rejection method for generating Poisson random variables", algorithm PTRS.
  const double log_l = log(l), b = 0.931 + 2.53 * sqrt(l), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
  for (;;) {
    const double u = numbers.uniform() - 0.5, v = numbers.positive_uniform(), us = 0.5 - abs(u);
    const double k = floor((2.0 * a / us + b) * u + l + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0.0 || us <= 0.0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log_l - l - lgamma(k + 1.0)) return k;
  }
}

}  // namespace kusari::km
