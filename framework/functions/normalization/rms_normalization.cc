#include "kusari/framework/functions/normalization/rms_normalization.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"

namespace kusari::functions {

Variable rms_normalization(const Variable& x, const Variable& gamma, double eps) {
  expect_floating(x, "F::rms_normalization", "x");
  expect_floating(gamma, "F::rms_normalization", "gamma");
  argument::finite_not_negative("F::rms_normalization", "eps", eps);
  if (x.ndim() == 0 || gamma.shape() != Shape{x.shape()[x.ndim() - 1]}) {
    throw TypeError("F::rms_normalization: gamma has shape " + to_string(gamma.shape()) + " and x " +
                    to_string(x.shape()) + ": gamma must have the size of x's last axis");
  }
  const Dtype wide = is_half(x.dtype()) ? Dtype::float32 : x.dtype();
  const Variable h = cast(x, wide);
  const Variable square = mean(h * h, {.axis = x.ndim() - 1, .keepdims = true});
  return cast(h / sqrt(square + eps) * cast(gamma, wide), x.dtype());
}

}  // namespace kusari::functions
