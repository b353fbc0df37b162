#pragma once

#include "kusari/framework/core/kernel.h"

// Random numbers whose making takes an unknown number of uniform ones. Each element has numbers of its own, those of
// its place in the stream and of any number of planes (rejection_draws.h), so that it depends on the seed, its place
// and its parameter alone; a draw of n elements takes n places: random::reserve(n).
namespace kusari::kernels {

/// y = log(z) for gamma distributed z of scale 1 and the shapes a (Marsaglia and Tsang 2000), which is finite where z
/// would be 0; NaN where a is not positive. a and y: one shape, floating, any strides; computed in float64.
struct RandomLogGamma {
  static constexpr const char* kName = "random_log_gamma";
  using Signature = void(RandomState state, In a, Out y);
};

/// y = Poisson distributed numbers of the means l (by inversion below 10, from there on Hörmann's PTRS, 1993); NaN
/// where l is negative. l and y: one shape, floating, any strides; computed in float64.
struct RandomPoisson {
  static constexpr const char* kName = "random_poisson";
  using Signature = void(RandomState state, In l, Out y);
};

}  // namespace kusari::kernels
