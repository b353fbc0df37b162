#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The number of trials up to the first success, which each trial has with probability p: 1, 2, ...
/// p: floating, in (0, 1]. Samples are not differentiable. Throws TypeError for another dtype.
/// chainer.distributions.Geometric.
class KUSARI_API Geometric final : public DistributionOf<Geometric> {
 public:
  explicit Geometric(const ParameterValue& p);

  const Variable& p() const noexcept { return p_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"p", p_}}; }
  std::string support() const override { return "positive integer"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable variance() const override;
  Variable stddev() const override;
  Variable entropy() const override;

 private:
  Geometric(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable p_;
};

}  // namespace kusari::distributions
