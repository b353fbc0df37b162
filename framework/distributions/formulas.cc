#include "kusari/framework/distributions/formulas.h"

#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::distributions {

Variable where_or(const Array& inside, const Variable& x, double outside) {
  return F::where(inside, x, full({}, outside, x.dtype(), x.device()));
}

Variable constant_where_infinite(const Variable& y) { return F::where(xp::isinf(y.array()), y.array(), y); }

namespace {

// What x t tends to as t falls.
Array limit_of_product(const Variable& x) { return xp::where(x == 0, 0, x.array() * -kInfinite); }

}  // namespace

Variable xlogy(const Variable& x, const Variable& y) {
  const BoolArray inside = y != 0;
  return F::where(inside, x * F::log(where_or(inside, y, 1)), limit_of_product(x));
}

Variable xlog1py(const Variable& x, const Variable& y) {
  const BoolArray inside = y != -1;
  return F::where(inside, x * F::log1p(where_or(inside, y, 0)), limit_of_product(x));
}

Variable log_share(const Variable& p) {
  const BoolArray inside = p != 0;
  return where_or(inside, F::log(where_or(inside, p, 1)), -kInfinite);
}

Variable log_rest(const Variable& l) {
  const BoolArray is_small = l < -0.7, is_inner = ~is_small & (l != 0);
  const Variable of_small = F::log1p(-F::exp(where_or(is_small, l, -1)));
  const Variable of_inner = F::log(-F::expm1(where_or(is_inner, l, -0.5)));
  return F::where(is_small, of_small, where_or(is_inner, of_inner, -kInfinite));
}

Variable times_unless_zero(const Variable& p, const Variable& t) { return p * where_or(p != 0, t, 0); }

Variable inner_share(const Variable& p) { return where_or((p > 0) & (p < 1), p, 0.5); }

Variable with_edges(const Variable& p, const Variable& x, double at_zero, double at_one) {
  return where_or(p != 0, where_or(p != 1, where_or((p > 0) & (p < 1), x, kUndefined), at_one), at_zero);
}

Variable log_beta(const Variable& a, const Variable& b) { return F::lgamma(a) + F::lgamma(b) - F::lgamma(a + b); }

Variable in_float64(const Variable& x) { return F::cast(x, Dtype::float64); }

Array identity_matrix(const Variable& x) {
  const int64_t n = x.shape(-1);
  const Array place = arange(n, Dtype::int64, x.device());
  return (place.reshape({n, 1}) == place.reshape({1, n})).astype(x.dtype());
}

Variable floored(const Variable& x) { return xp::floor(x.array()); }

}  // namespace kusari::distributions
