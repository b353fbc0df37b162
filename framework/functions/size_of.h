#pragma once

#include <algorithm>

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

// For gradients with squares, which the dtype may not hold, for the sources of this folder.
namespace kusari::functions {

/// |x|, at least `least`, within what the dtype divides by without loss.
inline Array size_of(const Array& x, double least = 0) {
  const bool is_wide = x.dtype() == Dtype::float64, is_short = x.dtype() == Dtype::float16;
  const double most = is_wide ? 1e300 : is_short ? 6e4 : 1e37;
  return pointwise(kernels::Clip{std::max(least, is_short ? 6e-5 : 1 / most), most}, pointwise(kernels::Abs{}, x));
}

}  // namespace kusari::functions
