#include "kusari/framework/distributions/log_normal.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

namespace {

Variable log_of_positive(const Variable& x) { return F::log(where_or(x > 0, x, 1)); }

}  // namespace

LogNormal::LogNormal(const ParameterValue& mu, const ParameterValue& sigma)
    : LogNormal(Checked{}, broadcast_parameters("D::LogNormal", {{"mu", mu}, {"sigma", sigma, true}})) {}

LogNormal::LogNormal(Checked, const Variables& parameters)
    : DistributionOf("D::LogNormal", parameters[0], parameters[0].shape()), mu_{parameters[0]}, sigma_{parameters[1]} {}

Variable LogNormal::mean() const { return F::exp(mu_ + 0.5 * F::square(sigma_)); }
Variable LogNormal::mode() const { return F::exp(mu_ - F::square(sigma_)); }
Variable LogNormal::median() const { return F::exp(mu_); }
// In float64, as factors of numbers that other dtypes hold may be beyond them.
Variable LogNormal::variance() const {
  const Variable square = F::square(in_float64(sigma_));
  return F::cast(F::exp(2 * in_float64(mu_) + square) * F::expm1(square), dtype());
}
Variable LogNormal::stddev() const {
  const Variable square = F::square(in_float64(sigma_));
  const BoolArray is_wide = square != 0;
  const Variable root = where_or(is_wide, F::sqrt(F::expm1(where_or(is_wide, square, 1))), 0);
  return F::cast(F::exp(in_float64(mu_) + 0.5 * square) * root, dtype());
}
Variable LogNormal::entropy() const { return mu_ + F::log(sigma_) + (kHalfLog2Pi + 0.5); }

Variable LogNormal::do_sample(const Shape& shape) const {
  Shape free;
  for (int i = 0; i < shape.ndim() - batch_shape().ndim(); ++i) free.push_back(shape[i]);
  return F::exp(of_logarithm().sample(free));
}
Variable LogNormal::do_log_prob(const Variable& x) const {
  const Variable y = log_of_positive(x);
  return where_or(x > 0, of_logarithm().log_prob(y) - y, -kInfinite);
}
Variable LogNormal::do_cdf(const Variable& x) const {
  return where_or(x > 0, of_logarithm().cdf(log_of_positive(x)), 0);
}
Variable LogNormal::do_log_cdf(const Variable& x) const {
  return where_or(x > 0, of_logarithm().log_cdf(log_of_positive(x)), -kInfinite);
}
Variable LogNormal::do_survival_function(const Variable& x) const {
  return where_or(x > 0, of_logarithm().survival_function(log_of_positive(x)), 1);
}
Variable LogNormal::do_log_survival_function(const Variable& x) const {
  return where_or(x > 0, of_logarithm().log_survival_function(log_of_positive(x)), 0);
}
Variable LogNormal::do_icdf(const Variable& p) const { return F::exp(of_logarithm().icdf(p)); }

Variable divergence(const LogNormal& p, const LogNormal& q) {
  return divergence(Normal(p.mu(), p.sigma()), Normal(q.mu(), q.sigma()));
}

}  // namespace kusari::distributions
