#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The ends of the range, or its start and its length.
struct UniformParameters {
  ParameterValue low = {};
  ParameterValue high = {};
  ParameterValue loc = {};
  ParameterValue scale = {};
};

/// Numbers uniform in [low, high]: D::Uniform(low, high), D::Uniform({.loc = l, .scale = s}).
/// low, high, loc, scale: one floating dtype, shapes that broadcast; low < high, scale positive. Samples are
/// differentiable. Throws TypeError when they do not fit, ValueError unless low and high, or loc and scale, are given.
/// chainer.distributions.Uniform.
class KUSARI_API Uniform final : public DistributionOf<Uniform> {
 public:
  Uniform(const ParameterValue& low, const ParameterValue& high);
  explicit Uniform(const UniformParameters& parameters);

  const Variable& low() const noexcept { return low_; }
  const Variable& high() const noexcept { return high_; }

  const Variable& loc() const noexcept { return low_; }
  Variable scale() const;

  std::vector<std::pair<std::string, Variable>> params() const override { return {{"low", low_}, {"high", high_}}; }
  std::string support() const override { return "[low, high]"; }
  Variable mean() const override;
  Variable variance() const override;
  Variable stddev() const override;
  Variable entropy() const override;

 private:
  Uniform(Checked, const Variables& ends);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;
  Variable log_part(const Variable& part, const Variable& rest) const;

  Variable low_, high_;
};

}  // namespace kusari::distributions
