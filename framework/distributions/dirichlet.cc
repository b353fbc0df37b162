#include "kusari/framework/distributions/dirichlet.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/distributions/rejection_noise.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::distributions {

namespace {

Variable total(const Variable& x) { return F::sum(x, -1, true); }

/// The logarithm of the multivariate beta function.
Variable log_multivariate_beta(const Variable& alpha) {
  return F::sum(F::lgamma(alpha), -1) - F::lgamma(F::sum(alpha, -1));
}

}  // namespace

Dirichlet::Dirichlet(const ParameterValue& alpha)
    : Dirichlet(Checked{}, parameters("D::Dirichlet", {{"alpha", alpha, true}})) {}

Dirichlet::Dirichlet(Checked, const Variables& parameters)
    : DistributionOf("D::Dirichlet", parameters[0], batch_of("D::Dirichlet", "alpha", parameters[0].shape(), 1),
                     {last_size("D::Dirichlet", "alpha", parameters[0].shape())}),
      alpha_{parameters[0]} {}

Variable Dirichlet::mean() const { return alpha_ / total(alpha_); }
Variable Dirichlet::mode() const {
  const BoolArray is_inner(xp::min((alpha_ > 1).astype(Dtype::uint8), -1, true) != 0);
  return where_or(is_inner, (alpha_ - 1) / (total(alpha_) - alpha_.shape(-1)), kUndefined);
}
Variable Dirichlet::variance() const {
  const Variable share = mean();
  return share * (1 - share) / (total(alpha_) + 1);
}
Variable Dirichlet::covariance() const {
  const Variable share = mean(), column = F::expand_dims(share, -1), row = F::expand_dims(share, -2);
  const Array one = identity_matrix(share);
  return (one * column - column * row) / F::expand_dims(total(alpha_) + 1, -1);
}
Variable Dirichlet::entropy() const {
  const Variable alpha = in_float64(alpha_), sum = F::sum(alpha, -1);
  const Variable y = log_multivariate_beta(alpha) + (sum - alpha.shape(-1)) * F::digamma(sum) -
                     F::sum((alpha - 1) * F::digamma(alpha), -1);
  return F::cast(y, dtype());
}

// The shares of gamma distributed numbers in their sum.
Variable Dirichlet::do_sample(const Shape& shape) const {
  return F::softmax(log_gamma_sample(F::broadcast_to(alpha_, shape)), -1);
}
Variable Dirichlet::do_log_prob(const Variable& x) const {
  const Variable alpha = in_float64(alpha_), inside = in_float64(where_or(x >= 0, x, 1));
  const Variable y = F::sum(xlogy(alpha - 1, inside), -1) - log_multivariate_beta(alpha);
  return F::cast(where_or(xp::min(x.array(), -1) >= 0, constant_where_infinite(y), -kInfinite), dtype());
}

Variable divergence(const Dirichlet& p, const Dirichlet& q) {
  const Variable a = in_float64(p.alpha()), b = in_float64(q.alpha());
  const Variable psi = F::digamma(a) - F::digamma(total(a));
  const Variable y = log_multivariate_beta(b) - log_multivariate_beta(a) + F::sum((a - b) * psi, -1);
  return F::cast(y, p.dtype());
}

}  // namespace kusari::distributions
