#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// A distribution whose last batch axes are axes of a sample: the numbers of a vector or an image, each by itself.
/// D::Independent(D::Normal(mean, scale), 1) of mean (N, d) has batch_shape (N) and event_shape (d).
///
/// reinterpreted_batch_ndims: how many axes; not given, all but the first. log_prob, entropy and kl_divergence are sums
/// over them; cdf, survival_function and prob are products, as in Chainer: survival_function is the probability that
/// every number is above x. icdf and median are not offered. Throws ValueError when the distribution has fewer batch
/// axes. chainer.distributions.Independent.
class KUSARI_API Independent final : public DistributionOf<Independent> {
 public:
  explicit Independent(std::shared_ptr<const Distribution> distribution,
                       std::optional<int64_t> reinterpreted_batch_ndims = std::nullopt);
  template <std::derived_from<Distribution> D>
  requires(!std::same_as<D, Independent>) explicit Independent(
      D distribution, std::optional<int64_t> reinterpreted_batch_ndims = std::nullopt)
      : Independent(std::make_shared<const D>(std::move(distribution)), reinterpreted_batch_ndims) {}

  const Distribution& distribution() const noexcept { return *distribution_; }
  int reinterpreted_batch_ndims() const noexcept { return axes_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return distribution_->params(); }
  std::string support() const override { return distribution_->support(); }
  Variable mean() const override { return distribution_->mean(); }
  Variable mode() const override { return distribution_->mode(); }
  Variable variance() const override { return distribution_->variance(); }
  Variable stddev() const override { return distribution_->stddev(); }
  /// (batch_shape..., n, n) for samples of n numbers.
  Variable covariance() const override;
  Variable entropy() const override;

 private:
  Independent(std::shared_ptr<const Distribution> distribution, int axes, int batch_axes);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;

  std::shared_ptr<const Distribution> distribution_;
  int axes_;
};

}  // namespace kusari::distributions
