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

bool is_given_p(const Bernoulli& of) { return of.params()[0].first == "p"; }

// 1 - p, in all digits where that is small and the logit is known.
Variable rest_of(const Bernoulli& of) { return is_given_p(of) ? 1 - of.p() : F::sigmoid(-of.logit()); }

Variable log_p_of(const Bernoulli& of) { return is_given_p(of) ? log_share(of.p()) : -F::softplus(-of.logit()); }
Variable log_rest_of(const Bernoulli& of) { return is_given_p(of) ? log_share(1 - of.p()) : -F::softplus(of.logit()); }

// share log(p) + rest log(1 - p).
Variable weighted_logs(const Variable& share, const Variable& rest, const Bernoulli& of) {
  if (is_given_p(of)) return xlogy(share, of.p()) + xlog1py(rest, -of.p());
  return -times_unless_zero(share, F::softplus(-of.logit())) - times_unless_zero(rest, F::softplus(of.logit()));
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
Variable Bernoulli::entropy() const { return -weighted_logs(p(), rest_of(*this), *this); }

Variable Bernoulli::do_sample(const Shape& shape) const {
  return (uniform_noise({shape, promote(dtype(), Dtype::float32), device()}) < p().array()).astype(dtype());
}

Variable Bernoulli::do_log_prob(const Variable& x) const {
  const Variable y = weighted_logs(x, 1 - x, *this);
  return binary_check_ ? where_or((x == 0) | (x == 1), y, -kInfinite) : y;
}

Variable Bernoulli::do_prob(const Variable& x) const {
  const Variable y = x * p() + (1 - x) * rest_of(*this);
  return binary_check_ ? where_or((x == 0) | (x == 1), y, 0) : y;
}

Variable Bernoulli::do_cdf(const Variable& x) const { return where_or(x >= 0, where_or(x < 1, rest_of(*this), 1), 0); }
Variable Bernoulli::do_log_cdf(const Variable& x) const {
  return where_or(x >= 0, where_or(x < 1, log_rest_of(*this), 0), -kInfinite);
}
Variable Bernoulli::do_survival_function(const Variable& x) const {
  return where_or(x >= 0, where_or(x < 1, p(), 0), 1);
}
Variable Bernoulli::do_log_survival_function(const Variable& x) const {
  return where_or(x >= 0, where_or(x < 1, log_p_of(*this), -kInfinite), 0);
}

Variable Bernoulli::do_icdf(const Variable& p) const {
  const Variable number = (p > rest_of(*this)).astype(dtype());
  return where_or((p >= 0) & (p <= 1), number, kUndefined);
}

Variable divergence(const Bernoulli& p, const Bernoulli& q) {
  const Variable share = p.p(), rest = rest_of(p);
  return weighted_logs(share, rest, p) - weighted_logs(share, rest, q);
}

}  // namespace kusari::distributions
