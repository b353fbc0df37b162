#pragma once

#include "kusari/framework/core/array.h"

// Random numbers that samples are made of: arrays of a shape in a distribution's dtype, rounded from float32 at least.
// All are finite.
namespace kusari::distributions {

struct NoiseKind {
  Shape shape;
  Dtype dtype;
  Device device;
};

/// Standard normal numbers.
Array normal_noise(const NoiseKind& kind);
/// Numbers uniform in [0, 1); half types may round to 1.
Array uniform_noise(const NoiseKind& kind);
/// Exponentially distributed numbers of rate 1.
Array exponential_noise(const NoiseKind& kind);

}  // namespace kusari::distributions
