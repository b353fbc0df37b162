#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Poisson distributions: how many events there are where `lam` are expected.
/// lam: floating, not negative. Samples are not differentiable. Throws TypeError for another dtype.
/// chainer.distributions.Poisson.
class KUSARI_API Poisson final : public DistributionOf<Poisson> {
 public:
  explicit Poisson(const ParameterValue& lam);

  const Variable& lam() const noexcept { return lam_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"lam", lam_}}; }
  std::string support() const override { return "non negative integer"; }
  Variable mean() const override { return lam_; }
  Variable mode() const override;
  Variable variance() const override { return lam_; }
  /// Differentiable twice; a third derivative throws StateError.
  Variable entropy() const override;

 private:
  Poisson(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable lam_;
};

}  // namespace kusari::distributions
