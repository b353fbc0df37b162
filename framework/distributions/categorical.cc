#include "kusari/framework/distributions/categorical.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/gumbel.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/xp/counting.h"

namespace kusari::distributions {

namespace {

Variable weights_of(const CategoricalParameters& given) {
  return parameters("D::Categorical", {one_of("D::Categorical", {"p", given.p}, {"logit", given.logit})})[0];
}

Shape with_axis(Shape shape, int64_t n) {
  shape.push_back(n);
  return shape;
}

Array indices_like(const Variable& p) { return arange(p.shape(-1), p.dtype(), p.device()); }

/// Which indices are at most x, for each x.
BoolArray are_up_to(const Variable& x, const Variable& p) { return indices_like(p) <= F::expand_dims(x, -1).array(); }

/// The logarithm of the sum of the probabilities that count; the constant -inf where that is 0.
Variable log_sum(const BoolArray& counts, const Variable& log_p) {
  const Variable chosen = where_or(counts, F::broadcast_to(log_p, counts.shape()), -kInfinite);
  const BoolArray is_some = xp::max(chosen.array(), -1) != -kInfinite;
  return where_or(is_some, F::logsumexp(where_or(is_some.expand_dims(-1), chosen, 0), -1), -kInfinite);
}

}  // namespace

Categorical::Categorical(const CategoricalParameters& given) : Categorical(weights_of(given), given.logit.is_given()) {}

Categorical::Categorical(const Variable& given, bool is_logit)
    : DistributionOf("D::Categorical", given, batch_of("D::Categorical", is_logit ? "logit" : "p", given.shape(), 1)) {
  if (given.shape(-1) == 0) {
    throw TypeError("D::Categorical: " + std::string(is_logit ? "logit" : "p") + " has shape " +
                    to_string(given.shape()) + ": its last axis must not be empty");
  }
  (is_logit ? logit_ : p_) = given;
}

Variable Categorical::p() const { return p_.is_defined() ? p_ : F::softmax(logit_, -1); }
Variable Categorical::log_p() const { return p_.is_defined() ? log_share(p_) : F::log_softmax(logit_, -1); }

std::vector<std::pair<std::string, Variable>> Categorical::params() const {
  if (p_.is_defined()) return {{"p", p_}};
  return {{"logit", logit_}};
}

Variable Categorical::mode() const { return F::argmax(p_.is_defined() ? p_ : logit_, -1); }
Variable Categorical::mean() const { return F::sum(p() * indices_like(p()), -1); }
Variable Categorical::variance() const {
  const Variable share = p();
  return F::sum(share * F::square(indices_like(share) - F::expand_dims(mean(), -1)), -1);
}
Variable Categorical::entropy() const {
  if (p_.is_defined()) return -F::sum(xlogy(p_, p_), -1);
  return -F::sum(times_unless_zero(p(), log_p()), -1);
}

// Log weights and Gumbel noise: the largest sum is a draw (Gumbel 1954).
Variable Categorical::do_sample(const Shape& shape) const {
  const Variable& given = p_.is_defined() ? p_ : logit_;
  const Dtype wide = promote(dtype(), Dtype::float32);
  const Array weights = p_.is_defined() ? xp::log(given.array().astype(wide)) : given.array().astype(wide);
  const Array all = weights.broadcast_to(with_axis(shape, given.shape(-1)));
  return F::argmax(Variable(all + F::gumbel_like(all), false), -1);
}
Variable Categorical::do_log_prob(const Variable& x) const {
  const Variable logs = log_p();
  const int64_t count = logs.shape(-1);
  const BoolArray inside = (x >= 0) & (x < count) & (x == floored(x));
  const Variable index = xp::where(inside, x.array(), 0).astype(Dtype::int32);
  const Variable all = F::broadcast_to(logs, with_axis(x.shape(), count));
  return where_or(inside, F::squeeze(F::gather_elements(all, F::expand_dims(index, -1), -1), -1), -kInfinite);
}
Variable Categorical::do_cdf(const Variable& x) const {
  const Variable share = p(), all = F::broadcast_to(share, with_axis(x.shape(), share.shape(-1)));
  return where_or(x < share.shape(-1) - 1, F::sum(where_or(are_up_to(x, share), all, 0), -1), 1);
}
Variable Categorical::do_survival_function(const Variable& x) const {
  const Variable share = p(), all = F::broadcast_to(share, with_axis(x.shape(), share.shape(-1)));
  return where_or(x >= 0, F::sum(where_or(~are_up_to(x, share), all, 0), -1), 1);
}
// Of logits, sums of shares that underflow have logarithms too.
Variable Categorical::do_log_cdf(const Variable& x) const {
  if (p_.is_defined()) return Distribution::do_log_cdf(x);
  return where_or(x < logit_.shape(-1) - 1, log_sum(are_up_to(x, logit_), log_p()), 0);
}
Variable Categorical::do_log_survival_function(const Variable& x) const {
  if (p_.is_defined()) return Distribution::do_log_survival_function(x);
  return where_or(x >= 0, log_sum(~are_up_to(x, logit_), log_p()), 0);
}
Variable Categorical::do_icdf(const Variable& p) const {
  const Array share = this->p().array(), before = xp::cumsum(share, -1) < F::expand_dims(p, -1).array();
  const Variable first = xp::minimum(xp::sum(before.astype(dtype()), -1), share.shape(-1) - 1);
  return where_or((p >= 0) & (p <= 1), first, kUndefined);
}

Variable divergence(const Categorical& p, const Categorical& q) {
  return F::sum(times_unless_zero(p.p(), p.log_p() - q.log_p()), -1);
}

}  // namespace kusari::distributions
