#include "kusari/framework/distributions/beta.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/distributions/rejection_noise.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/betainc.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"

namespace kusari::distributions {

Beta::Beta(const ParameterValue& a, const ParameterValue& b)
    : Beta(Checked{}, broadcast_parameters("D::Beta", {{"a", a, true}, {"b", b, true}})) {}

Beta::Beta(Checked, const Variables& parameters)
    : DistributionOf("D::Beta", parameters[0], parameters[0].shape()), a_{parameters[0]}, b_{parameters[1]} {}

namespace {

Variable beta_below(const Variable& a, const Variable& b, const Variable& x) {
  return where_or(x > 0, where_or(x < 1, F::betainc(a, b, inner_share(x)), 1), 0);
}

// In float64; 1 - x has no digits of a small x.
Variable beta_above(const Variable& given_a, const Variable& given_b, const Variable& given_x) {
  const Variable a = in_float64(given_a), b = in_float64(given_b), x = in_float64(given_x), inside = inner_share(x);
  const BoolArray is_small = inside < 1e-6;
  const Variable of_small = 1 - F::betainc(a, b, where_or(is_small, inside, 0.5));
  const Variable y = F::where(is_small, of_small, F::betainc(b, a, 1 - where_or(~is_small, inside, 0.5)));
  return where_or(x > 0, where_or(x < 1, y, 0), 1);
}

}  // namespace

Variable Beta::mean() const { return a_ / (a_ + b_); }
Variable Beta::mode() const {
  const Variable inner = where_or((a_ > 1) & (b_ > 1), (a_ - 1) / where_or(a_ + b_ != 2, a_ + b_ - 2, 1), kUndefined);
  return where_or(~((a_ <= 1) & (b_ > 1)), where_or(~((a_ > 1) & (b_ <= 1)), inner, 1), 0);
}
Variable Beta::variance() const {
  const Variable sum = a_ + b_;
  return (a_ / sum) * (b_ / sum) / (sum + 1);  // products of large numbers would not fit into 16 bits
}
Variable Beta::entropy() const {
  const Variable a = in_float64(a_), b = in_float64(b_), sum = a + b;
  const Variable y = log_beta(a, b) - (a - 1) * F::digamma(a) - (b - 1) * F::digamma(b) + (sum - 2) * F::digamma(sum);
  return F::cast(y, dtype());
}

// Of two gamma distributed numbers the share of the first.
Variable Beta::do_sample(const Shape& shape) const {
  const Variable first = log_gamma_sample(F::broadcast_to(a_, shape));
  return F::sigmoid(first - log_gamma_sample(F::broadcast_to(b_, shape)));
}
Variable Beta::do_log_prob(const Variable& x) const {
  const BoolArray inside = (x >= 0) & (x <= 1);
  const Variable a = in_float64(a_), b = in_float64(b_), y = in_float64(where_or(inside, x, 0.5));
  const Variable log_density = xlogy(a - 1, y) + xlog1py(b - 1, -y) - log_beta(a, b);
  return F::cast(where_or(inside, constant_where_infinite(log_density), -kInfinite), dtype());
}
Variable Beta::do_cdf(const Variable& x) const { return beta_below(a_, b_, x); }
Variable Beta::do_log_cdf(const Variable& x) const {
  return F::cast(log_share(beta_below(in_float64(a_), in_float64(b_), in_float64(x))), dtype());
}
Variable Beta::do_survival_function(const Variable& x) const { return F::cast(beta_above(a_, b_, x), dtype()); }
Variable Beta::do_log_survival_function(const Variable& x) const {
  return F::cast(log_share(beta_above(a_, b_, x)), dtype());
}
Variable Beta::do_icdf(const Variable& p) const { return with_edges(p, F::betaincinv(a_, b_, inner_share(p)), 0, 1); }

Variable divergence(const Beta& p, const Beta& q) {
  const Variable a = in_float64(p.a()), b = in_float64(p.b()), c = in_float64(q.a()), d = in_float64(q.b());
  const Variable y = log_beta(c, d) - log_beta(a, b) + (a - c) * F::digamma(a) + (b - d) * F::digamma(b) +
                     (c - a + d - b) * F::digamma(a + b);
  return F::cast(y, p.dtype());
}

}  // namespace kusari::distributions
