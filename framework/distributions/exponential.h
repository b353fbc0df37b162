#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Exponential distributions of rate `lam`, of density lam exp(-lam x) for x >= 0.
/// lam: floating, positive. Samples are differentiable. Throws TypeError for another dtype.
/// chainer.distributions.Exponential.
class KUSARI_API Exponential final : public DistributionOf<Exponential> {
 public:
  explicit Exponential(const ParameterValue& lam);

  const Variable& lam() const noexcept { return lam_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"lam", lam_}}; }
  std::string support() const override { return "positive"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable variance() const override;
  Variable stddev() const override { return mean(); }
  Variable entropy() const override;

 private:
  Exponential(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable lam_;
};

}  // namespace kusari::distributions
