#include "kusari/framework/distributions/pareto.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

Pareto::Pareto(const ParameterValue& scale, const ParameterValue& alpha)
    : Pareto(Checked{}, broadcast_parameters("D::Pareto", {{"scale", scale, true}, {"alpha", alpha, true}})) {}

Pareto::Pareto(Checked, const Variables& parameters)
    : DistributionOf("D::Pareto", parameters[0], parameters[0].shape()), scale_{parameters[0]}, alpha_{parameters[1]} {}

// log(x / scale), 0 below the scale.
Variable Pareto::log_ratio(const Variable& x) const {
  return F::log(F::where(x >= scale_, x, scale_)) - F::log(scale_);
}

Variable Pareto::mean() const {
  const BoolArray is_finite = alpha_ > 1;
  const Variable alpha = where_or(is_finite, alpha_, 2);
  return where_or(is_finite, scale_ * (alpha / (alpha - 1)), kInfinite);
}
Variable Pareto::variance() const {
  const BoolArray is_finite = alpha_ > 2;
  const Variable alpha = where_or(is_finite, alpha_, 3);
  return where_or(is_finite, F::square(scale_ / (alpha - 1)) * (alpha / (alpha - 2)), kInfinite);
}
Variable Pareto::entropy() const { return F::log(scale_ / alpha_) + 1 / alpha_ + 1; }

Variable Pareto::do_sample(const Shape& shape) const {
  return scale_ * F::exp(exponential_noise({shape, dtype(), device()}) / alpha_);
}
Variable Pareto::do_log_prob(const Variable& x) const {
  const Variable y = F::log(alpha_) - F::log(scale_) - (alpha_ + 1) * log_ratio(x);
  return where_or(x >= scale_, y, -kInfinite);
}
Variable Pareto::do_cdf(const Variable& x) const { return -F::expm1(do_log_survival_function(x)); }
Variable Pareto::do_log_cdf(const Variable& x) const { return log_rest(do_log_survival_function(x)); }
Variable Pareto::do_survival_function(const Variable& x) const { return F::exp(do_log_survival_function(x)); }
Variable Pareto::do_log_survival_function(const Variable& x) const { return -alpha_ * log_ratio(x); }
Variable Pareto::do_icdf(const Variable& p) const {
  const BoolArray inside = (p >= 0) & (p < 1);
  const Variable x = scale_ * F::exp(-F::log1p(-where_or(inside, p, 0)) / alpha_);
  return where_or(p != 1, where_or(inside, x, kUndefined), kInfinite);
}

Variable divergence(const Pareto& p, const Pareto& q) {
  const Variable y =
      F::log(p.alpha() / q.alpha()) + q.alpha() * (F::log(p.scale()) - F::log(q.scale())) + q.alpha() / p.alpha() - 1;
  return where_or(p.scale() >= q.scale(), y, kInfinite);
}

}  // namespace kusari::distributions
