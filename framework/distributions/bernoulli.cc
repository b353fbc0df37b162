#include "kusari/framework/distributions/bernoulli.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"

namespace kusari::distributions {
namespace {

Variable p_or_logit(const BernoulliParameters& given) {
  return parameters("D::Bernoulli", {one_of("D::Bernoulli", {"p", given.p}, {"logit", given.logit})})[0];
}

}  // namespace

Bernoulli::Bernoulli(const BernoulliParameters& given)
    : Bernoulli(p_or_logit(given), given.logit.is_given(), given.binary_check) {}

Bernoulli::Bernoulli(const Variable& given, bool is_logit, bool binary_check)
    : DistributionOf("D::Bernoulli", given, given.shape()), binary_check_{binary_check} {
  (is_logit ? logit_ : p_) = given;
}

Variable Bernoulli::p() const { return p_.is_defined() ? p_ : F::sigmoid(logit_); }
Variable Bernoulli::logit() const { return logit_.is_defined() ? logit_ : F::log(p_) - F::log1p(-p_); }

std::vector<std::pair<std::string, Variable>> Bernoulli::params() const {
  if (p_.is_defined()) return {{"p", p_}};
  return {{"logit", logit_}};
}

Variable Bernoulli::mode() const { return (p() >= 0.5).astype(dtype()); }
Variable Bernoulli::variance() const {
  return p_.is_defined() ? p_ * (1 - p_) : F::sigmoid(logit_) * F::sigmoid(-logit_);
}
Variable Bernoulli::entropy() const {
  if (p_.is_defined()) return -xlogy(p_, p_) - xlog1py(1 - p_, -p_);
  return times_unless_zero(F::sigmoid(logit_), F::softplus(-logit_)) +
         times_unless_zero(F::sigmoid(-logit_), F::softplus(logit_));
}

Variable Bernoulli::do_sample(const Shape& shape) const {
  return (uniform_noise({shape, promote(dtype(), Dtype::float32), device()}) < p().array()).astype(dtype());
}

Variable Bernoulli::do_log_prob(const Variable& x) const {
  const Variable y = p_.is_defined()
                         ? xlogy(x, p_) + xlog1py(1 - x, -p_)
                         : -times_unless_zero(x, F::softplus(-logit_)) - times_unless_zero(1 - x, F::softplus(logit_));
  return binary_check_ ? where_or((x == 0) | (x == 1), y, -kInfinite) : y;
}

Variable Bernoulli::do_prob(const Variable& x) const {
  const Variable y = x * p() + (1 - x) * (1 - p());
  return binary_check_ ? where_or((x == 0) | (x == 1), y, 0) : y;
}

Variable Bernoulli::do_cdf(const Variable& x) const { return where_or(x >= 0, where_or(x < 1, 1 - p(), 1), 0); }

Variable Bernoulli::do_icdf(const Variable& p) const {
  const Variable number = (p > 1 - this->p()).astype(dtype());
  return where_or((p >= 0) & (p <= 1), number, kUndefined);
}

Variable divergence(const Bernoulli& p, const Bernoulli& q) {
  const Variable a = p.p(), s = p.logit(), t = q.logit();
  return times_unless_zero(a, F::softplus(-t) - F::softplus(-s)) +
         times_unless_zero(1 - a, F::softplus(t) - F::softplus(s));
}

}  // namespace kusari::distributions
