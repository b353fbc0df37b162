#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The probabilities, or their logarithms up to a summand that is the same for all: one of them.
struct CategoricalParameters {
  ParameterValue p = {};
  ParameterValue logit = {};
};

/// An index from 0 to K - 1, each with a probability of its own: D::Categorical(p), D::Categorical({.logit = l}).
/// p: (..., K), floating, summing to 1 along its last axis; logit: their logarithms up to a summand. Samples are int32
/// and not differentiable. Throws TypeError when they do not fit, ValueError unless one of them is given.
/// chainer.distributions.Categorical.
class KUSARI_API Categorical final : public DistributionOf<Categorical> {
 public:
  explicit Categorical(const CategoricalParameters& parameters);
  template <int = 0>
  explicit Categorical(const ParameterValue& p) : Categorical(CategoricalParameters{p, {}}) {}

  Variable p() const;
  /// The logarithms of the probabilities.
  Variable log_p() const;

  std::vector<std::pair<std::string, Variable>> params() const override;
  std::string support() const override { return "{0, 1, ..., K - 1}"; }
  /// The first index of the largest probability, int32.
  Variable mode() const override;
  Variable mean() const override;      ///< of the index
  Variable variance() const override;  ///< of the index
  Variable entropy() const override;

 private:
  Categorical(const Variable& given, bool is_logit);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;
  Variable do_cdf(const Variable& x) const override;
  Variable do_log_cdf(const Variable& x) const override;
  Variable do_survival_function(const Variable& x) const override;
  Variable do_log_survival_function(const Variable& x) const override;
  Variable do_icdf(const Variable& p) const override;

  Variable p_, logit_;  // one of them was given
};

}  // namespace kusari::distributions
