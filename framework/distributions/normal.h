#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The standard deviation of a normal distribution, or its logarithm: one of them.
struct NormalScale {
  ParameterValue scale = {};
  ParameterValue log_scale = {};
};

/// Normal distributions of mean `loc` and standard deviation `scale`: D::Normal(loc, scale), D::Normal(loc,
/// {.log_scale = s}).
/// loc, scale: one floating dtype, shapes that broadcast; scale positive. Samples are differentiable. Throws TypeError
/// when they do not fit, ValueError unless one of scale and log_scale is given. chainer.distributions.Normal.
class KUSARI_API Normal final : public DistributionOf<Normal> {
 public:
  Normal(const ParameterValue& loc, const NormalScale& scale);
  template <int = 0>
  Normal(const ParameterValue& loc, const ParameterValue& scale) : Normal(loc, NormalScale{scale, {}}) {}

  const Variable& loc() const noexcept { return loc_; }
  Variable scale() const;
  Variable log_scale() const;

  std::vector<std::pair<std::string, Variable>> params() const override;
  std::string support() const override { return "real"; }
  Variable mean() const override { return loc_; }
  Variable mode() const override { return loc_; }
  Variable median() const override { return loc_; }
  Variable variance() const override;
  Variable stddev() const override { return scale(); }
  Variable entropy() const override;

 private:
  Normal(Checked, const Variables& loc_and_scale, bool is_log);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Variable standardized(const Variable& x) const;

  Variable loc_, scale_, log_scale_;  // one of the last two was given
};

}  // namespace kusari::distributions
