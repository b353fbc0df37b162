#include "kusari/framework/functions/normalization/mean_variance_normalization.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::functions {

Variable mean_variance_normalization(const Variable& x, const Axes& axes, double eps) {
  const char* const call = "F::mean_variance_normalization";
  expect_floating(x, call, "x");
  argument::at_least_zero(call, "eps", eps);
  static_cast<void>(axes.mask(x.ndim(), call));  // throws
  const Variable wide = is_half(x.dtype()) ? cast(x, Dtype::float32) : x;
  const Variable centered = wide - average(wide, {.axis = axes, .keepdims = true});
  const Variable deviation = sqrt(average(square(centered), {.axis = axes, .keepdims = true}));
  return cast(centered / (deviation + eps), x.dtype());
}

}  // namespace kusari::functions
