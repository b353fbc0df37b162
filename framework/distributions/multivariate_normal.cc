#include "kusari/framework/distributions/multivariate_normal.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/diagonal.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::distributions {

namespace {

/// Vectors times matrices, by the last axes.
Variable times(const Variable& matrices, const Variable& vectors) {
  return F::squeeze(F::matmul(matrices, F::expand_dims(vectors, -1)), -1);
}

Variable log_determinant(const Variable& triangular) {
  return F::sum(F::log(F::diagonal(triangular, {.offset = 0, .axis1 = -2, .axis2 = -1})), -1);
}

Variables broadcast_batches(const ParameterValue& loc, const ParameterValue& scale_tril) {
  const char* const call = "D::MultivariateNormal";
  const Variables given = parameters(call, {{"loc", loc}, {"scale_tril", scale_tril}});
  const Shape of_loc = batch_of(call, "loc", given[0].shape(), 1),
              of_scale = batch_of(call, "scale_tril", given[1].shape(), 2);
  const int64_t d = given[0].shape(-1);
  if (given[1].shape(-1) != d || given[1].shape(-2) != d) {
    throw TypeError(std::string(call) + ": loc has shape " + to_string(given[0].shape()) +
                    " but scale_tril has shape " + to_string(given[1].shape()) +
                    ": its last two axes must have the size of loc's last one");
  }
  Shape vectors = broadcast_shapes(of_loc, of_scale, call);
  Shape matrices = vectors;
  vectors.push_back(d);
  matrices.push_back(d);
  matrices.push_back(d);
  return {F::broadcast_to(given[0], vectors), F::broadcast_to(F::tril(given[1]), matrices)};
}

}  // namespace

MultivariateNormal::MultivariateNormal(const ParameterValue& loc, const MultivariateNormalScale& scale)
    : MultivariateNormal(Checked{}, broadcast_batches(loc, scale.scale_tril)) {}

MultivariateNormal::MultivariateNormal(Checked, const Variables& loc_and_scale)
    : DistributionOf("D::MultivariateNormal", loc_and_scale[0],
                     batch_of("D::MultivariateNormal", "loc", loc_and_scale[0].shape(), 1),
                     {loc_and_scale[0].shape(-1)}),
      loc_{loc_and_scale[0]},
      scale_tril_{loc_and_scale[1]} {}

Variable MultivariateNormal::variance() const { return F::sum(F::square(scale_tril_), -1); }
Variable MultivariateNormal::covariance() const { return F::matmul(scale_tril_, scale_tril_, {.transb = true}); }
Variable MultivariateNormal::entropy() const {
  return log_determinant(scale_tril_) + (kHalfLog2Pi + 0.5) * static_cast<double>(loc_.shape(-1));
}

Variable MultivariateNormal::do_sample(const Shape& shape) const {
  return loc_ + times(scale_tril_, normal_noise({shape, dtype(), device()}));
}
Variable MultivariateNormal::do_log_prob(const Variable& x) const {
  const Variable z = times(F::inv(scale_tril_), x - loc_);
  return -0.5 * F::sum(F::square(z), -1) - log_determinant(scale_tril_) -
         kHalfLog2Pi * static_cast<double>(loc_.shape(-1));
}

Variable divergence(const MultivariateNormal& p, const MultivariateNormal& q) {
  const Variable inverse = F::inv(q.scale_tril());
  const Variable spread = F::sum(F::square(F::matmul(inverse, p.scale_tril())), {-2, -1});
  const Variable distance = F::sum(F::square(times(inverse, q.loc() - p.loc())), -1);
  return log_determinant(q.scale_tril()) - log_determinant(p.scale_tril()) +
         0.5 * (spread + distance - static_cast<double>(p.loc().shape(-1)));
}

}  // namespace kusari::distributions
