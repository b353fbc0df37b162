#include "kusari/framework/distributions/formulas.h"

#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/gammainc.h"
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

namespace {

/// Where the share of a gamma distribution is too small for its logarithm, and arguments of continued fractions there.
struct GammaTail {
  GammaTail(const Variable& shape, const Variable& number, const Variable& share)
      : is_far{(share < 1e-250) & (number > 0) & (number < kInfinite)},
        a{where_or(is_far, shape, 1)},
        x{where_or(is_far, number, 1)} {}

  Variable log_front() const { return a * F::log(x) - x - F::lgamma(a); }

  BoolArray is_far;
  Variable a, x;
};

}  // namespace

// The continued fractions (NIST Handbook of Mathematical Functions, 8.9) converge the faster the farther the tail is:
// these terms give all digits of float64.
Variable log_gammainc(const Variable& a, const Variable& x) {
  const Variable share = F::gammainc(a, x);
  const GammaTail tail(a, x, share);
  Variable fraction = tail.a + 8;
  for (int i = 8; i > 0; --i) {
    const Variable factor = i % 2 == 0 ? tail.x * (i / 2) : -(tail.a + (i - 1) / 2) * tail.x;
    fraction = tail.a + (i - 1) + factor / fraction;
  }
  return F::where(tail.is_far, tail.log_front() - F::log(fraction), log_share(share));
}

Variable log_gammaincc(const Variable& a, const Variable& x) {
  const Variable share = F::gammaincc(a, x);
  const GammaTail tail(a, x, share);
  const Variable distance = tail.x - tail.a;
  Variable fraction = distance + 9;
  for (int i = 4; i > 0; --i) fraction = distance + (2 * i - 1) - i * (i - tail.a) / fraction;
  return F::where(tail.is_far, tail.log_front() - F::log(fraction), log_share(share));
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
