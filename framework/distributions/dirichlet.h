#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Dirichlet distributions of d shares that sum to 1, of density proportional to the product of x_i^(alpha_i - 1).
/// alpha: (..., d), floating, positive. Samples are differentiable once. Throws TypeError when alpha does not fit.
/// chainer.distributions.Dirichlet.
class KUSARI_API Dirichlet final : public DistributionOf<Dirichlet> {
 public:
  explicit Dirichlet(const ParameterValue& alpha);

  const Variable& alpha() const noexcept { return alpha_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"alpha", alpha_}}; }
  std::string support() const override { return "[0, 1]"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable variance() const override;
  Variable covariance() const override;
  Variable entropy() const override;

 private:
  Dirichlet(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;

  Variable alpha_;
};

}  // namespace kusari::distributions
