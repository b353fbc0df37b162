#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// One of K vectors of zeros with a single 1, at a place that has a probability of its own.
/// p: (..., K), floating, summing to 1 along its last axis. Samples are not differentiable. Throws TypeError when p
/// does not fit. chainer.distributions.OneHotCategorical.
class KUSARI_API OneHotCategorical final : public DistributionOf<OneHotCategorical> {
 public:
  explicit OneHotCategorical(const ParameterValue& p);

  const Variable& p() const noexcept { return p_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"p", p_}}; }
  std::string support() const override { return "one-hot vectors"; }
  Variable mean() const override { return p_; }
  Variable mode() const override;
  Variable variance() const override;
  Variable covariance() const override;
  Variable entropy() const override;

 private:
  OneHotCategorical(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;

  Variable p_;
};

}  // namespace kusari::distributions
