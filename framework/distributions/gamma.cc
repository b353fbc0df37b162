#include "kusari/framework/distributions/gamma.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/distributions/rejection_noise.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/gammainc.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

Gamma::Gamma(const ParameterValue& k, const ParameterValue& theta)
    : Gamma(Checked{}, broadcast_parameters("D::Gamma", {{"k", k, true}, {"theta", theta, true}})) {}

Gamma::Gamma(Checked, const Variables& parameters)
    : DistributionOf("D::Gamma", parameters[0], parameters[0].shape()), k_{parameters[0]}, theta_{parameters[1]} {}

Variable Gamma::mean() const { return k_ * theta_; }
Variable Gamma::mode() const { return where_or(k_ >= 1, k_ - 1, 0) * theta_; }
Variable Gamma::variance() const { return k_ * F::square(theta_); }
Variable Gamma::stddev() const { return F::sqrt(k_) * theta_; }
Variable Gamma::entropy() const {
  const Variable k = in_float64(k_);
  return F::cast(k + F::log(in_float64(theta_)) + F::lgamma(k) + (1 - k) * F::digamma(k), dtype());
}

Variable Gamma::do_sample(const Shape& shape) const {
  return theta_ * F::exp(log_gamma_sample(F::broadcast_to(k_, shape)));
}
Variable Gamma::do_log_prob(const Variable& x) const {
  const Variable k = in_float64(k_), theta = in_float64(theta_), z = in_float64(where_or(x >= 0, x, 1)) / theta;
  const Variable y = xlogy(k - 1, z) - z - F::lgamma(k) - F::log(theta);
  return F::cast(where_or(x >= 0, constant_where_infinite(y), -kInfinite), dtype());
}
Variable Gamma::do_cdf(const Variable& x) const {
  return where_or(x > 0, F::gammainc(k_, where_or(x > 0, x, 1) / theta_), 0);
}
Variable Gamma::do_log_cdf(const Variable& x) const {
  const Variable z = in_float64(where_or(x > 0, x, 1)) / in_float64(theta_);
  return F::cast(where_or(x > 0, log_gammainc(in_float64(k_), z), -kInfinite), dtype());
}
Variable Gamma::do_survival_function(const Variable& x) const {
  return where_or(x > 0, F::gammaincc(k_, where_or(x > 0, x, 1) / theta_), 1);
}
Variable Gamma::do_log_survival_function(const Variable& x) const {
  const Variable z = in_float64(where_or(x > 0, x, 1)) / in_float64(theta_);
  return F::cast(where_or(x > 0, log_gammaincc(in_float64(k_), z), 0), dtype());
}
Variable Gamma::do_icdf(const Variable& p) const {
  return with_edges(p, F::gammaincinv(k_, inner_share(p)) * theta_, 0, kInfinite);
}

Variable divergence(const Gamma& p, const Gamma& q) {
  const Variable a = in_float64(p.k()), b = in_float64(q.k());
  const Variable s = in_float64(p.theta()), t = in_float64(q.theta());
  const Variable y =
      (a - b) * F::digamma(a) - F::lgamma(a) + F::lgamma(b) + b * (F::log(t) - F::log(s)) + a * (s / t - 1);
  return F::cast(y, p.dtype());
}

}  // namespace kusari::distributions
