#include "kusari/framework/distributions/formulas.h"

#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::distributions {

Variable where_or(const Array& inside, const Variable& x, double outside) {
  return F::where(inside, x, full({}, outside, x.dtype(), x.device()));
}

Variable xlogy(const Variable& x, const Variable& y) { return x * F::log(where_or(~((x == 0) & (y == 0)), y, 1)); }

Variable xlog1py(const Variable& x, const Variable& y) { return x * F::log1p(where_or(~((x == 0) & (y == -1)), y, 0)); }

Variable times_unless_zero(const Variable& p, const Variable& t) { return p * where_or(p != 0, t, 0); }

Variable log_beta(const Variable& a, const Variable& b) { return F::lgamma(a) + F::lgamma(b) - F::lgamma(a + b); }

Variable in_float64(const Variable& x) { return F::cast(x, Dtype::float64); }

Array identity_matrix(const Variable& x) {
  const int64_t n = x.shape(-1);
  const Array place = arange(n, Dtype::int64, x.device());
  return (place.reshape({n, 1}) == place.reshape({1, n})).astype(x.dtype());
}

Variable floored(const Variable& x) { return xp::floor(x.array()); }

}  // namespace kusari::distributions
