#include "kusari/framework/distributions/one_hot_categorical.h"

#include "kusari/framework/distributions/categorical.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/one_hot.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::distributions {

namespace {

Variable one_hot_like(const Variable& index, const Variable& p) {
  return F::one_hot(index, p.shape(-1), {.dtype = p.dtype()});
}

}  // namespace

OneHotCategorical::OneHotCategorical(const ParameterValue& p)
    : OneHotCategorical(Checked{}, parameters("D::OneHotCategorical", {{"p", p}})) {}

OneHotCategorical::OneHotCategorical(Checked, const Variables& parameters)
    : DistributionOf("D::OneHotCategorical", parameters[0],
                     batch_of("D::OneHotCategorical", "p", parameters[0].shape(), 1),
                     {last_size("D::OneHotCategorical", "p", parameters[0].shape())}),
      p_{parameters[0]} {}

Variable OneHotCategorical::mode() const { return one_hot_like(Categorical(p_).mode(), p_); }
Variable OneHotCategorical::variance() const { return p_ * (1 - p_); }
Variable OneHotCategorical::covariance() const {
  const Variable column = F::expand_dims(p_, -1), row = F::expand_dims(p_, -2);
  return identity_matrix(p_) * column - column * row;
}
Variable OneHotCategorical::entropy() const { return Categorical(p_).entropy(); }

Variable OneHotCategorical::do_sample(const Shape& shape) const {
  Shape free;
  for (int i = 0; i < shape.ndim() - p_.ndim(); ++i) free.push_back(shape[i]);
  return one_hot_like(Categorical(p_).sample(free), p_);
}
Variable OneHotCategorical::do_log_prob(const Variable& x) const { return F::sum(xlogy(x, p_), -1); }

Variable divergence(const OneHotCategorical& p, const OneHotCategorical& q) {
  return divergence(Categorical(p.p()), Categorical(q.p()));
}

}  // namespace kusari::distributions
