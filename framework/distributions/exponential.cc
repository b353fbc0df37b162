#include "kusari/framework/distributions/exponential.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

Exponential::Exponential(const ParameterValue& lam)
    : Exponential(Checked{}, broadcast_parameters("D::Exponential", {{"lam", lam, true}})) {}

Exponential::Exponential(Checked, const Variables& parameters)
    : DistributionOf("D::Exponential", parameters[0], parameters[0].shape()), lam_{parameters[0]} {}

namespace {

Variable at_least_zero(const Variable& x) { return where_or(x >= 0, x, 0); }

}  // namespace

Variable Exponential::mean() const { return 1 / lam_; }
Variable Exponential::mode() const { return zeros_like(lam_.array()); }
Variable Exponential::variance() const { return F::square(1 / lam_); }
Variable Exponential::entropy() const { return 1 - F::log(lam_); }

Variable Exponential::do_sample(const Shape& shape) const {
  return exponential_noise({shape, dtype(), device()}) / lam_;
}
Variable Exponential::do_log_prob(const Variable& x) const {
  return where_or(x >= 0, F::log(lam_) - lam_ * at_least_zero(x), -kInfinite);
}
Variable Exponential::do_cdf(const Variable& x) const { return -F::expm1(-lam_ * at_least_zero(x)); }
Variable Exponential::do_log_cdf(const Variable& x) const { return log_rest(do_log_survival_function(x)); }
Variable Exponential::do_survival_function(const Variable& x) const { return F::exp(-lam_ * at_least_zero(x)); }
Variable Exponential::do_log_survival_function(const Variable& x) const { return -lam_ * at_least_zero(x); }
Variable Exponential::do_icdf(const Variable& p) const {
  const BoolArray inside = (p >= 0) & (p < 1);
  const Variable x = -F::log1p(-where_or(inside, p, 0)) / lam_;
  return where_or(p != 1, where_or(inside, x, kUndefined), kInfinite);
}

Variable divergence(const Exponential& p, const Exponential& q) {
  return F::log(p.lam()) - F::log(q.lam()) + q.lam() / p.lam() - 1;
}

}  // namespace kusari::distributions
