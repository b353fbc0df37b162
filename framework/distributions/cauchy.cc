#include "kusari/framework/distributions/cauchy.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/trigonometric.h"

namespace kusari::distributions {

Cauchy::Cauchy(const ParameterValue& loc, const ParameterValue& scale)
    : Cauchy(Checked{}, broadcast_parameters("D::Cauchy", {{"loc", loc}, {"scale", scale, true}})) {}

Cauchy::Cauchy(Checked, const Variables& parameters)
    : DistributionOf("D::Cauchy", parameters[0], parameters[0].shape()), loc_{parameters[0]}, scale_{parameters[1]} {}

namespace {

// tan(pi (p - 1/2)), exact where p is near 0 or 1.
Variable cauchy_quantile(const Variable& p) {
  const BoolArray is_low = p < 0.5;
  const Variable tail = F::where(is_low, p, 1 - p), size = 1 / F::tan(kPi * tail);
  return F::where(is_low, -size, size);
}

}  // namespace

Variable Cauchy::standardized(const Variable& x) const { return (x - loc_) / scale_; }

Variable Cauchy::mean() const { return full(batch_shape(), kUndefined, dtype(), device()); }
Variable Cauchy::variance() const { return mean(); }
Variable Cauchy::entropy() const { return F::log(scale_ * (4 * kPi)); }

// The ratio of two normal numbers.
Variable Cauchy::do_sample(const Shape& shape) const {
  const NoiseKind kind{shape, promote(dtype(), Dtype::float32), device()};
  const Array numerator = normal_noise(kind);
  return loc_ + scale_ * (numerator / normal_noise(kind)).astype(dtype());
}
Variable Cauchy::do_log_prob(const Variable& x) const {
  return -F::log1p(F::square(standardized(x))) - F::log(scale_ * kPi);
}
Variable Cauchy::do_cdf(const Variable& x) const {
  const Variable z = standardized(x);
  return F::arctan2(Variable(ones_like(z.array()), false), -z) * (1 / kPi);
}
Variable Cauchy::do_survival_function(const Variable& x) const {
  const Variable z = standardized(x);
  return F::arctan2(Variable(ones_like(z.array()), false), z) * (1 / kPi);
}
Variable Cauchy::do_icdf(const Variable& p) const {
  return loc_ + scale_ * where_or((p >= 0) & (p <= 1), cauchy_quantile(p), kUndefined);
}

// Chyzak and Nielsen 2019, https://arxiv.org/abs/1905.10965.
Variable divergence(const Cauchy& p, const Cauchy& q) {
  return F::log((F::square(p.scale() + q.scale()) + F::square(p.loc() - q.loc())) / (4 * p.scale() * q.scale()));
}

}  // namespace kusari::distributions
