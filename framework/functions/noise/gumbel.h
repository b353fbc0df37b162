#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {

/// Gumbel noise of x's shape, in float32 at least: -log(-log(u)), u uniform. The ends of [0, 1), where that is
/// infinite, are cut off by half a step of a float32 number.
inline Array gumbel_like(const Array& x) {
  const Array g = empty(x.shape(), promote(x.dtype(), Dtype::float32), x.device());
  const RandomState state = random::reserve(static_cast<uint64_t>(x.size()));
  launch<kernels::Uniform>(x.device(), kernels::UniformRange{}, state, g);
  pointwise_to(g, kernels::Clip{0x1p-25, 1 - 0x1p-24}, g);
  for (int i = 0; i < 2; ++i) {
    pointwise_to(g, kernels::Log{}, g);
    pointwise_to(g, kernels::Neg{}, g);
  }
  return g;
}

}  // namespace kusari::functions
