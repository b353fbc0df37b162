#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Gamma distributions of shape k and scale theta, of density proportional to x^(k - 1) exp(-x / theta).
/// k, theta: one floating dtype, shapes that broadcast; positive. Samples are differentiable: once by k, to any order
/// by theta. Throws TypeError when they do not fit. chainer.distributions.Gamma.
class KUSARI_API Gamma final : public DistributionOf<Gamma> {
 public:
  Gamma(const ParameterValue& k, const ParameterValue& theta);

  const Variable& k() const noexcept { return k_; }
  const Variable& theta() const noexcept { return theta_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"k", k_}, {"theta", theta_}}; }
  std::string support() const override { return "positive"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable variance() const override;
  Variable stddev() const override;
  Variable entropy() const override;

 private:
  Gamma(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable k_, theta_;
};

}  // namespace kusari::distributions
