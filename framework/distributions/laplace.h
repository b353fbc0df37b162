#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// Laplace distributions, of density proportional to exp(-|x - loc| / scale).
/// loc, scale: one floating dtype, shapes that broadcast; scale positive. Samples are differentiable. Throws TypeError
/// when they do not fit. chainer.distributions.Laplace.
class KUSARI_API Laplace final : public DistributionOf<Laplace> {
 public:
  Laplace(const ParameterValue& loc, const ParameterValue& scale);

  const Variable& loc() const noexcept { return loc_; }
  const Variable& scale() const noexcept { return scale_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"loc", loc_}, {"scale", scale_}}; }
  std::string support() const override { return "real"; }
  Variable mean() const override { return loc_; }
  Variable mode() const override { return loc_; }
  Variable median() const override { return loc_; }
  Variable variance() const override;
  Variable stddev() const override;
  Variable entropy() const override;

 private:
  Laplace(Checked, const Variables& parameters);
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
