#include "kusari/framework/distributions/cauchy.h"

#include <cmath>

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

BoolArray is_far(const Variable& z) { return (z < -1) | (z > 1); }

// 1 / z where that is the smaller one, else z: squares of it are finite.
Variable folded(const Variable& z) {
  const BoolArray far = is_far(z);
  return F::where(far, Variable(ones_like(z.array()), false) / where_or(far, z, 1), z);
}

Variable log_cauchy_below(const Variable& z) {
  const BoolArray far = is_far(z);
  const Variable angle = F::arctan(F::absolute(folded(z)));
  const Variable of_tail =
      F::where(z < 0, F::log(where_or(far, angle, 1)) - std::log(kPi), F::log1p(angle * (-1 / kPi)));
  return F::where(far, of_tail, F::log(0.5 + F::arctan(where_or(~far, z, 0)) * (1 / kPi)));
}

// tan(pi (p - 1/2)), exact where p is near 0 or 1.
Variable cauchy_quantile(const Variable& p) {
  const BoolArray is_low = p < 0.5;
  const Variable tail = F::where(is_low, p, 1 - p);
  const BoolArray is_small = tail < 0.25;
  const Variable size = F::where(is_small, 1 / F::tan(kPi * where_or(is_small, tail, 0.25)),
                                 F::tan(kPi * (0.5 - where_or(~is_small, tail, 0.25))));
  return F::where(is_low, -size, size);
}

}  // namespace

Variable Cauchy::standardized(const Variable& x) const { return (x - loc_) / scale_; }

Variable Cauchy::mean() const { return full(batch_shape(), kUndefined, dtype(), device()); }
Variable Cauchy::variance() const { return mean(); }
Variable Cauchy::entropy() const { return F::log(scale_) + std::log(4 * kPi); }

// The ratio of two normal numbers.
Variable Cauchy::do_sample(const Shape& shape) const {
  const NoiseKind kind{shape, promote(dtype(), Dtype::float32), device()};
  const Array numerator = normal_noise(kind);
  return loc_ + scale_ * (numerator / normal_noise(kind)).astype(dtype());
}
Variable Cauchy::do_log_prob(const Variable& x) const {
  const Variable z = standardized(x), of_far = F::log(F::absolute(where_or(is_far(z), z, 1)));
  return -F::log1p(F::square(folded(z))) - 2 * of_far - F::log(scale_) - std::log(kPi);
}
Variable Cauchy::do_cdf(const Variable& x) const {
  const Variable z = standardized(x);
  return F::arctan2(Variable(ones_like(z.array()), false), -z) * (1 / kPi);
}
Variable Cauchy::do_log_cdf(const Variable& x) const { return log_cauchy_below(standardized(x)); }
Variable Cauchy::do_survival_function(const Variable& x) const {
  const Variable z = standardized(x);
  return F::arctan2(Variable(ones_like(z.array()), false), z) * (1 / kPi);
}
Variable Cauchy::do_log_survival_function(const Variable& x) const { return log_cauchy_below(-standardized(x)); }
Variable Cauchy::do_icdf(const Variable& p) const {
  return with_edges(p, loc_ + scale_ * cauchy_quantile(inner_share(p)), -kInfinite, kInfinite);
}

// Chyzak and Nielsen 2019, https://arxiv.org/abs/1905.10965.
Variable divergence(const Cauchy& p, const Cauchy& q) {
  return F::log((F::square(p.scale() + q.scale()) + F::square(p.loc() - q.loc())) / (4 * p.scale() * q.scale()));
}

}  // namespace kusari::distributions
