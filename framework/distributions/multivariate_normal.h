#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

struct MultivariateNormalScale {
  ParameterValue scale_tril = {};  ///< lower triangular, with the covariance scale_tril scale_tril^T
};

/// Normal distributions of vectors, of mean `loc`: D::MultivariateNormal(loc, {.scale_tril = l}).
/// loc: (..., d). scale_tril: (..., d, d), of which what lies above the diagonal is not looked at; its diagonal
/// positive. One floating dtype; the axes before broadcast. Samples are differentiable. Throws TypeError when they do
/// not fit; DeviceError for what needs the inverse of scale_tril (log_prob, kl_divergence) on a device without that
/// kernel. chainer.distributions.MultivariateNormal.
class KUSARI_API MultivariateNormal final : public DistributionOf<MultivariateNormal> {
 public:
  MultivariateNormal(const ParameterValue& loc, const MultivariateNormalScale& scale);

  const Variable& loc() const noexcept { return loc_; }
  const Variable& scale_tril() const noexcept { return scale_tril_; }

  std::vector<std::pair<std::string, Variable>> params() const override {
    return {{"loc", loc_}, {"scale_tril", scale_tril_}};
  }
  std::string support() const override { return "real"; }
  Variable mean() const override { return loc_; }
  Variable mode() const override { return loc_; }
  Variable median() const override { return loc_; }
  Variable variance() const override;
  Variable covariance() const override;
  Variable entropy() const override;

 private:
  MultivariateNormal(Checked, const Variables& loc_and_scale);
  Variable do_sample(const Shape& shape) const override;
  Variable do_log_prob(const Variable& x) const override;

  Variable loc_, scale_tril_;
};

}  // namespace kusari::distributions
