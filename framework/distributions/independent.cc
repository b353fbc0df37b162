#include "kusari/framework/distributions/independent.h"

#include <algorithm>
#include <span>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/kl_divergence.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/prod.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::distributions {

namespace {

int reinterpreted(const std::shared_ptr<const Distribution>& distribution, const std::optional<int64_t>& given) {
  if (distribution == nullptr) throw ValueError("D::Independent: distribution is null: it is required");
  const int n = distribution->batch_shape().ndim();
  if (!given) return std::max(n - 1, 0);
  if (*given < 0 || *given > n) {
    throw ValueError("D::Independent: reinterpreted_batch_ndims is " + std::to_string(*given) + ": it must be in [0, " +
                     std::to_string(n) + "], as the distribution's batch_shape is " +
                     to_string(distribution->batch_shape()));
  }
  return static_cast<int>(*given);
}

Shape part_of(const Shape& shape, int begin, int end) {
  Shape part;
  for (int i = begin; i < end; ++i) part.push_back(shape[i]);
  return part;
}

Shape and_then(Shape shape, const Shape& more) {
  for (const int64_t n : more) shape.push_back(n);
  return shape;
}

Axes last_axes(int count) {
  std::vector<int64_t> axes;
  for (int i = 1; i <= count; ++i) axes.push_back(-i);
  return Axes(std::span<const int64_t>(axes));
}

}  // namespace

Independent::Independent(std::shared_ptr<const Distribution> distribution,
                         std::optional<int64_t> reinterpreted_batch_ndims)
    : Independent(distribution, reinterpreted(distribution, reinterpreted_batch_ndims),
                  distribution == nullptr ? 0 : distribution->batch_shape().ndim()) {}

Independent::Independent(std::shared_ptr<const Distribution> distribution, int axes, int batch_axes)
    : DistributionOf(
          "D::Independent", distribution->dtype(), distribution->device(),
          part_of(distribution->batch_shape(), 0, batch_axes - axes),
          and_then(part_of(distribution->batch_shape(), batch_axes - axes, batch_axes), distribution->event_shape())),
      distribution_{std::move(distribution)},
      axes_{axes} {}

Variable Independent::covariance() const {
  const bool is_scalar = distribution_->event_shape().ndim() == 0;
  const int64_t inner = numel(distribution_->event_shape()), n = numel(event_shape());
  const int64_t outer = inner == 0 ? 0 : n / inner;
  const Variable blocks = is_scalar ? distribution_->variance() : distribution_->covariance();
  // (..., outer, inner, 1, inner) beside a mask (outer, 1, outer, 1).
  const Variable rows = F::reshape(blocks, and_then(batch_shape(), {outer, inner, 1, inner}));
  const Array place = arange(outer, Dtype::int64, device());
  const BoolArray is_own(place.reshape({outer, 1, 1, 1}) == place.reshape({1, 1, outer, 1}));
  return F::reshape(where_or(is_own, rows, 0), and_then(batch_shape(), {n, n}));
}
Variable Independent::entropy() const { return F::sum(distribution_->entropy(), last_axes(axes_)); }

Variable Independent::do_sample(const Shape& shape) const {
  return distribution_->sample(part_of(shape, 0, shape.ndim() - batch_shape().ndim() - event_shape().ndim()));
}
Variable Independent::do_log_prob(const Variable& x) const {
  return F::sum(distribution_->log_prob(x), last_axes(axes_));
}
Variable Independent::do_prob(const Variable& x) const { return F::prod(distribution_->prob(x), last_axes(axes_)); }
Variable Independent::do_cdf(const Variable& x) const { return F::prod(distribution_->cdf(x), last_axes(axes_)); }
Variable Independent::do_log_cdf(const Variable& x) const {
  return F::sum(distribution_->log_cdf(x), last_axes(axes_));
}
Variable Independent::do_survival_function(const Variable& x) const {
  return F::prod(distribution_->survival_function(x), last_axes(axes_));
}
Variable Independent::do_log_survival_function(const Variable& x) const {
  return F::sum(distribution_->log_survival_function(x), last_axes(axes_));
}

Variable divergence(const Independent& p, const Independent& q) {
  if (p.reinterpreted_batch_ndims() != q.reinterpreted_batch_ndims()) {
    throw TypeError("D::kl_divergence: p has " + std::to_string(p.reinterpreted_batch_ndims()) +
                    " reinterpreted axes but q has " + std::to_string(q.reinterpreted_batch_ndims()) +
                    ": they must be as many");
  }
  return F::sum(kl_divergence(p.distribution(), q.distribution()), last_axes(p.reinterpreted_batch_ndims()));
}

}  // namespace kusari::distributions
