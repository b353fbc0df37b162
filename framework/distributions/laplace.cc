#include "kusari/framework/distributions/laplace.h"

#include <numbers>

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

Laplace::Laplace(const ParameterValue& loc, const ParameterValue& scale)
    : Laplace(Checked{}, broadcast_parameters("D::Laplace", {{"loc", loc}, {"scale", scale, true}})) {}

Laplace::Laplace(Checked, const Variables& parameters)
    : DistributionOf("D::Laplace", parameters[0], parameters[0].shape()), loc_{parameters[0]}, scale_{parameters[1]} {}

Variable Laplace::standardized(const Variable& x) const { return (x - loc_) / scale_; }

namespace {

// -|z|, of slope -1 at 0, where that of the absolute value is none.
Variable minus_size(const Variable& z) { return F::where(z < 0, z, -z); }

Variable laplace_below(const Variable& z) {
  const Variable tail = 0.5 * F::exp(minus_size(z));
  return F::where(z < 0, tail, 1 - tail);
}

Variable log_laplace_below(const Variable& z) {
  const Variable size = minus_size(z);
  return F::where(z < 0, size - kLog2, F::log1p(-0.5 * F::exp(size)));
}

}  // namespace

Variable Laplace::variance() const { return F::square(scale_) * 2; }
Variable Laplace::stddev() const { return scale_ * std::numbers::sqrt2; }
Variable Laplace::entropy() const { return F::log(scale_) + (kLog2 + 1); }

// The difference of two exponentially distributed numbers.
Variable Laplace::do_sample(const Shape& shape) const {
  const NoiseKind kind{shape, dtype(), device()};
  const Array first = exponential_noise(kind);
  return loc_ + scale_ * (first - exponential_noise(kind));
}
Variable Laplace::do_log_prob(const Variable& x) const {
  return -F::absolute(standardized(x)) - F::log(scale_) - kLog2;
}
Variable Laplace::do_cdf(const Variable& x) const { return laplace_below(standardized(x)); }
Variable Laplace::do_log_cdf(const Variable& x) const { return log_laplace_below(standardized(x)); }
Variable Laplace::do_survival_function(const Variable& x) const { return laplace_below(-standardized(x)); }
Variable Laplace::do_log_survival_function(const Variable& x) const { return log_laplace_below(-standardized(x)); }
Variable Laplace::do_icdf(const Variable& p) const {
  const BoolArray is_low = p < 0.5;
  const Variable inside = inner_share(p), size = F::log(2 * F::where(is_low, inside, 1 - inside));
  return with_edges(p, loc_ + scale_ * F::where(is_low, size, -size), -kInfinite, kInfinite);
}

Variable divergence(const Laplace& p, const Laplace& q) {
  const Variable distance = F::absolute(p.loc() - q.loc());
  return F::log(q.scale()) - F::log(p.scale()) + (distance + p.scale() * F::exp(-distance / p.scale())) / q.scale() - 1;
}

}  // namespace kusari::distributions
