#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The probability of 1, or its logit log(p / (1 - p)): one of them.
struct BernoulliParameters {
  ParameterValue p = {};
  ParameterValue logit = {};
  bool binary_check = false;  ///< log_prob of numbers other than 0 and 1 is -inf, not x log(p) + (1 - x) log(1 - p)
};

/// Numbers that are 1 with probability p, else 0: D::Bernoulli(p), D::Bernoulli({.logit = l}).
/// p, logit: floating. Samples are not differentiable. Throws TypeError for another dtype, ValueError unless one of p
/// and logit is given. chainer.distributions.Bernoulli.
class KUSARI_API Bernoulli final : public DistributionOf<Bernoulli> {
 public:
  explicit Bernoulli(const BernoulliParameters& parameters);
  template <int = 0>
  explicit Bernoulli(const ParameterValue& p) : Bernoulli(BernoulliParameters{p, {}}) {}

  Variable p() const;
  Variable logit() const;

  std::vector<std::pair<std::string, Variable>> params() const override;
  std::string support() const override { return "{0, 1}"; }
  Variable mean() const override { return p(); }
  /// 1 where p is at least 1/2.
  Variable mode() const override;
  Variable variance() const override;
  Variable entropy() const override;

 private:
  Bernoulli(const Variable& given, bool is_logit, bool binary_check);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable p_, logit_;  // one of them was given
  bool binary_check_;
};

}  // namespace kusari::distributions
