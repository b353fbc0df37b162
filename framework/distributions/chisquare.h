#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"
#include "kusari/framework/distributions/gamma.h"

namespace kusari::distributions {

/// Chi-square distributions of k degrees of freedom: sums of the squares of k standard normal numbers.
/// k: floating, positive. Samples are differentiable once. Throws TypeError for another dtype.
/// chainer.distributions.Chisquare.
class KUSARI_API Chisquare final : public DistributionOf<Chisquare> {
 public:
  explicit Chisquare(const ParameterValue& k);

  const Variable& k() const noexcept { return k_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"k", k_}}; }
  std::string support() const override { return "positive"; }
  Variable mean() const override { return k_; }
  Variable mode() const override;
  Variable variance() const override;
  Variable entropy() const override;

 private:
  Chisquare(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Gamma as_gamma() const;

  Variable k_;
};

}  // namespace kusari::distributions
