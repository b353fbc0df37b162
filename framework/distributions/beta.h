#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Beta distributions on [0, 1], of density proportional to x^(a - 1) (1 - x)^(b - 1).
/// a, b: one floating dtype, shapes that broadcast; positive. Samples are differentiable once. Throws TypeError when
/// they do not fit. chainer.distributions.Beta.
class KUSARI_API Beta final : public DistributionOf<Beta> {
 public:
  Beta(const ParameterValue& a, const ParameterValue& b);

  const Variable& a() const noexcept { return a_; }
  const Variable& b() const noexcept { return b_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"a", a_}, {"b", b_}}; }
  std::string support() const override { return "[0, 1]"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable variance() const override;
  Variable entropy() const override;

 private:
  Beta(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable a_, b_;
};

}  // namespace kusari::distributions
