#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Cauchy distributions of median `loc` and half width at half height `scale`.
/// loc, scale: one floating dtype, shapes that broadcast; scale positive. mean() and variance() are NaN, as there are
/// none. Samples are differentiable. Throws TypeError when they do not fit. chainer.distributions.Cauchy.
class KUSARI_API Cauchy final : public DistributionOf<Cauchy> {
 public:
  Cauchy(const ParameterValue& loc, const ParameterValue& scale);

  const Variable& loc() const noexcept { return loc_; }
  const Variable& scale() const noexcept { return scale_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"loc", loc_}, {"scale", scale_}}; }
  std::string support() const override { return "real"; }
  Variable mean() const override;
  Variable mode() const override { return loc_; }
  Variable median() const override { return loc_; }
  Variable variance() const override;
  Variable entropy() const override;

 private:
  Cauchy(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Variable standardized(const Variable& x) const;

  Variable loc_, scale_;
};

}  // namespace kusari::distributions
