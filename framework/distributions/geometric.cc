#include "kusari/framework/distributions/geometric.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::distributions {

Geometric::Geometric(const ParameterValue& p)
    : Geometric(Checked{}, broadcast_parameters("D::Geometric", {{"p", p}})) {}

Geometric::Geometric(Checked, const Variables& parameters)
    : DistributionOf("D::Geometric", parameters[0], parameters[0].shape()), p_{parameters[0]} {}

namespace {

// The integers from 1 up to x, 0 below.
Variable successes(const Variable& x) { return xp::maximum(xp::floor(x.array()), 0); }

}  // namespace

Variable Geometric::mean() const { return 1 / p_; }
Variable Geometric::mode() const { return ones_like(p_.array()); }
Variable Geometric::variance() const { return (1 - p_) / F::square(p_); }
Variable Geometric::stddev() const { return F::sqrt(1 - p_) / p_; }
Variable Geometric::entropy() const { return -xlog1py(1 - p_, -p_) / p_ - F::log(p_); }

Variable Geometric::do_sample(const Shape& shape) const {
  const NoiseKind kind{shape, promote(dtype(), Dtype::float32), device()};
  const Array failures = xp::floor(exponential_noise(kind) / -xp::log1p(-p_.array().astype(kind.dtype)));
  return (failures + 1).astype(dtype());
}
Variable Geometric::do_log_prob(const Variable& x) const {
  const BoolArray inside = (x >= 1) & (x == floored(x));
  const Variable y = xlog1py(where_or(inside, x, 1) - 1, -p_) + F::log(p_);
  return where_or(inside, constant_where_infinite(y), -kInfinite);
}
// Shares of one failure without its logarithm, which has no slope where p is 1.
Variable Geometric::do_prob(const Variable& x) const { return F::where(x == 2, (1 - p_) * p_, F::exp(do_log_prob(x))); }
Variable Geometric::do_cdf(const Variable& x) const {
  return F::where(successes(x) == 1, p_, -F::expm1(do_log_survival_function(x)));
}
Variable Geometric::do_log_cdf(const Variable& x) const { return log_rest(do_log_survival_function(x)); }
Variable Geometric::do_survival_function(const Variable& x) const {
  return F::where(successes(x) == 1, 1 - p_, F::exp(do_log_survival_function(x)));
}
Variable Geometric::do_log_survival_function(const Variable& x) const { return xlog1py(successes(x), -p_); }
Variable Geometric::do_icdf(const Variable& p) const {
  const auto no_graph = no_backprop_mode();
  const Variable ratio = where_or(p_ != 1, F::log1p(-p) / F::log1p(-p_), 1);
  const Variable last = xp::maximum(xp::ceil(ratio.array()), 1);
  // Rounding may have gone one too far.
  const Variable before = F::where(do_cdf(last - 1) >= p, last - 1, last);
  return where_or((p >= 0) & (p <= 1), xp::maximum(before.array(), 1), kUndefined);
}

Variable divergence(const Geometric& p, const Geometric& q) {
  const Variable failure = 1 - p.p();
  return F::log(p.p()) - F::log(q.p()) + (xlog1py(failure, -p.p()) - xlog1py(failure, -q.p())) / p.p();
}

}  // namespace kusari::distributions
