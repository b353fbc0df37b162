#include "kusari/framework/distributions/gumbel.h"

#include <numbers>

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
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

namespace {

// Where exp(-z) is finite, or z NaN. Beyond, densities and shares are 0, and infinite factors in their gradients would
// give NaN.
BoolArray has_finite_rate(const Variable& z) {
  const Dtype dtype = z.dtype();
  return ~(z <= (dtype == Dtype::float64 ? -709.0 : dtype == Dtype::float16 ? -11.0 : -88.0));
}

}  // namespace

Variable Gumbel::mean() const { return loc_ + kEulerGamma * scale_; }
Variable Gumbel::variance() const { return F::square(scale_) * (kPi * kPi / 6); }
Variable Gumbel::stddev() const { return scale_ * (kPi / (std::numbers::sqrt2 * std::numbers::sqrt3)); }
Variable Gumbel::entropy() const { return F::log(scale_) + (kEulerGamma + 1); }

Variable Gumbel::do_sample(const Shape& shape) const {
  return loc_ + scale_ * F::gumbel_like(empty(shape, dtype(), device())).astype(dtype());
}
Variable Gumbel::do_log_prob(const Variable& x) const {
  const Variable z = standardized(x);
  const BoolArray is_finite = has_finite_rate(z);
  const Variable inside = where_or(is_finite, z, 0);
  return where_or(is_finite, -(inside + F::exp(-inside)) - F::log(scale_), -kInfinite);
}
Variable Gumbel::do_cdf(const Variable& x) const { return F::exp(do_log_cdf(x)); }
Variable Gumbel::do_log_cdf(const Variable& x) const {
  const Variable z = standardized(x);
  const BoolArray is_finite = has_finite_rate(z);
  return where_or(is_finite, -F::exp(-where_or(is_finite, z, 0)), -kInfinite);
}
Variable Gumbel::do_survival_function(const Variable& x) const { return -F::expm1(do_log_cdf(x)); }
// log(1 - exp(-u)) of u = exp(-z), by its series where u is small.
Variable Gumbel::do_log_survival_function(const Variable& x) const {
  const Variable z = standardized(x);
  const BoolArray is_far = z > 8;
  const Variable far = where_or(is_far, z, 8), u = F::exp(-far);
  return F::where(is_far, -far - u * (0.5 - u / 24), log_rest(do_log_cdf(x)));
}
Variable Gumbel::do_icdf(const Variable& p) const {
  return with_edges(p, loc_ - scale_ * F::log(-F::log(inner_share(p))), -kInfinite, kInfinite);
}

Variable divergence(const Gumbel& p, const Gumbel& q) {
  const Variable ratio = p.scale() / q.scale(), distance = (q.loc() - p.loc()) / q.scale();
  return -F::log(ratio) + kEulerGamma * (ratio - 1) + F::exp(distance + F::lgamma(ratio + 1)) - 1 - distance;
}

}  // namespace kusari::distributions
