#include "kusari/framework/functions/pooling/lp_pooling_nd.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {

Variable lp_pooling_nd(const Variable& x, const PerAxis& ksize, const LpPoolingOptions& options) {
  const char* const call = "F::lp_pooling_nd";
  expect_floating(x, call, "x");
  const double p = argument::finite_positive(call, "p", options.p);
  const kernels::AveragePooling sums{make_windows(call, spatial_ndim(x), ksize, options.stride, options.pad),
                                     kernels::PoolingDivisor::one};
  const Variable wide = is_half(x.dtype()) ? cast(x, Dtype::float32) : x;
  // A square needs no absolute value.
  const Variable powers = p == 2 ? pow(wide, 2) : (p == 1 ? absolute(wide) : pow(absolute(wide), p));
  const Variable total = sum_windows(call, powers, sums, options.cover_all);
  return cast(p == 1 ? total : pow(total, 1 / p), x.dtype());
}

}  // namespace kusari::functions
