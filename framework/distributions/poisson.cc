#include "kusari/framework/distributions/poisson.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/distributions/rejection_noise.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/gammainc.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::distributions {
namespace {

class EntropyCurvature final : public F::UnaryFunction<kernels::PoissonEntropyCurvature, F::Keep::nothing> {
  Variables backward(const Variables&) override {
    throw StateError("D::Poisson::entropy: there is no third derivative");
  }
};

class EntropySlope final : public F::UnaryFunction<kernels::PoissonEntropySlope, F::Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] * apply<EntropyCurvature>({retained_input(0)})}; }
};

class Entropy final : public F::UnaryFunction<kernels::PoissonEntropy, F::Keep::input> {
  Variables backward(const Variables& gy) override { return {gy[0] * apply<EntropySlope>({retained_input(0)})}; }
};

// The shape of the gamma distribution above lam of which lies the share up to x.
Variable shape_up_to(const Variable& x) { return floored(where_or(x >= 0, x, 0)) + 1; }

}  // namespace

Poisson::Poisson(const ParameterValue& lam)
    : Poisson(Checked{}, broadcast_parameters("D::Poisson", {{"lam", lam, true}})) {}

Poisson::Poisson(Checked, const Variables& parameters)
    : DistributionOf("D::Poisson", parameters[0], parameters[0].shape()), lam_{parameters[0]} {}

Variable Poisson::mode() const { return floored(lam_); }
Variable Poisson::entropy() const { return apply<Entropy>({lam_}); }

Variable Poisson::do_sample(const Shape& shape) const { return poisson_noise(lam_.array().broadcast_to(shape)); }
Variable Poisson::do_log_prob(const Variable& x) const {
  const BoolArray inside = (x >= 0) & (x == floored(x));
  const Variable k = in_float64(where_or(inside, x, 0)), lam = in_float64(lam_);
  const Variable y = constant_where_infinite(xlogy(k, lam) - lam - F::lgamma(k + 1));
  return F::cast(where_or(inside, y, -kInfinite), dtype());
}
// Of 1 without the logarithm, which has no slope where lam is 0.
Variable Poisson::do_prob(const Variable& x) const {
  return F::where(x == 1, lam_ * F::exp(-lam_), F::exp(do_log_prob(x)));
}
Variable Poisson::do_cdf(const Variable& x) const { return where_or(x >= 0, F::gammaincc(shape_up_to(x), lam_), 0); }
Variable Poisson::do_log_cdf(const Variable& x) const {
  const Variable y = log_gammaincc(in_float64(shape_up_to(x)), in_float64(lam_));
  return F::cast(where_or(x >= 0, y, -kInfinite), dtype());
}
Variable Poisson::do_survival_function(const Variable& x) const {
  return where_or(x >= 0, F::gammainc(shape_up_to(x), lam_), 1);
}
Variable Poisson::do_log_survival_function(const Variable& x) const {
  const Variable y = log_gammainc(in_float64(shape_up_to(x)), in_float64(lam_));
  return F::cast(where_or(x >= 0, y, 0), dtype());
}
Variable Poisson::do_icdf(const Variable& p) const {
  return pointwise(kernels::PoissonQuantile{}, lam_.array().broadcast_to(p.shape()), p.array());
}

Variable divergence(const Poisson& p, const Poisson& q) {
  const Variable a = in_float64(p.lam()), b = in_float64(q.lam());
  return F::cast(xlogy(a, a) - xlogy(a, b) - a + b, p.dtype());
}

}  // namespace kusari::distributions
