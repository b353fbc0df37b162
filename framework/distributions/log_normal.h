#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"
#include "kusari/framework/distributions/normal.h"

namespace kusari::distributions {

/// Distributions of positive numbers whose logarithms are normal, of mean mu and standard deviation sigma.
/// mu, sigma: one floating dtype, shapes that broadcast; sigma positive. Samples are differentiable. Throws TypeError
/// when they do not fit. chainer.distributions.LogNormal.
class KUSARI_API LogNormal final : public DistributionOf<LogNormal> {
 public:
  LogNormal(const ParameterValue& mu, const ParameterValue& sigma);

  const Variable& mu() const noexcept { return mu_; }
  const Variable& sigma() const noexcept { return sigma_; }

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"mu", mu_}, {"sigma", sigma_}}; }
  std::string support() const override { return "positive"; }
  Variable mean() const override;
  Variable mode() const override;
  Variable median() const override;
  Variable variance() const override;
  Variable stddev() const override;
  Variable entropy() const override;

 private:
  LogNormal(Checked, const Variables& parameters);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Normal of_logarithm() const { return Normal(mu_, sigma_); }

  Variable mu_, sigma_;
};

}  // namespace kusari::distributions
