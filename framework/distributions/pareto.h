#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Pareto distributions of numbers from `scale` up, of density proportional to x^-(alpha + 1).
/// scale, alpha: one floating dtype, shapes that broadcast; positive. mean() is infinite for alpha up to 1, variance()
/// up to 2. Samples are differentiable. Throws TypeError when they do not fit. chainer.distributions.Pareto.
class KUSARI_API Pareto final : public DistributionOf<Pareto> {
 public:
  Pareto(const ParameterValue& scale, const ParameterValue& alpha);

  const Variable& scale() const noexcept { return scale_; }
  const Variable& alpha() const noexcept { return alpha_; }

  std::vector<std::pair<std::string, Variable>> params() const override {
    return {{"scale", scale_}, {"alpha", alpha_}};
  }
  std::string support() const override { return "[scale, inf]"; }
  Variable mean() const override;
  Variable mode() const override { return scale_; }
  Variable variance() const override;
  Variable entropy() const override;

 private:
  Pareto(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Variable log_ratio(const Variable& x) const;

  Variable scale_, alpha_;
};

}  // namespace kusari::distributions
