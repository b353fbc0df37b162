#include "kusari/framework/distributions/gumbel.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/noise/gumbel.h"

namespace kusari::distributions {

Gumbel::Gumbel(const ParameterValue& loc, const ParameterValue& scale)
    : Gumbel(Checked{}, broadcast_parameters("D::Gumbel", {{"loc", loc}, {"scale", scale, true}})) {}

Gumbel::Gumbel(Checked, const Variables& parameters)
    : DistributionOf("D::Gumbel", parameters[0], parameters[0].shape()), loc_{parameters[0]}, scale_{parameters[1]} {}

Variable Gumbel::standardized(const Variable& x) const { return (x - loc_) / scale_; }

Variable Gumbel::mean() const { return loc_ + kEulerGamma * scale_; }
Variable Gumbel::variance() const { return F::square(scale_) * (kPi * kPi / 6); }
Variable Gumbel::entropy() const { return F::log(scale_) + (kEulerGamma + 1); }

Variable Gumbel::do_sample(const Shape& shape) const {
  return loc_ + scale_ * F::gumbel_like(empty(shape, dtype(), device())).astype(dtype());
}
Variable Gumbel::do_log_prob(const Variable& x) const {
  const Variable z = standardized(x);
  return -(z + F::exp(-z)) - F::log(scale_);
}
Variable Gumbel::do_cdf(const Variable& x) const { return F::exp(do_log_cdf(x)); }
Variable Gumbel::do_log_cdf(const Variable& x) const { return -F::exp(-standardized(x)); }
Variable Gumbel::do_survival_function(const Variable& x) const { return -F::expm1(do_log_cdf(x)); }
Variable Gumbel::do_icdf(const Variable& p) const { return loc_ - scale_ * F::log(-F::log(p)); }

Variable divergence(const Gumbel& p, const Gumbel& q) {
  const Variable ratio = p.scale() / q.scale(), distance = (q.loc() - p.loc()) / q.scale();
  return -F::log(ratio) + kEulerGamma * (ratio - 1) + F::exp(distance + F::lgamma(ratio + 1)) - 1 - distance;
}

}  // namespace kusari::distributions
