#include "kusari/framework/distributions/normal.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/log_ndtr.h"
#include "kusari/framework/functions/math/ndtr.h"
#include "kusari/framework/functions/math/ndtri.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {
namespace {

Variables loc_and_scale(const ParameterValue& loc, const NormalScale& given) {
  const NamedParameter scale = one_of("D::Normal", {"scale", given.scale, true}, {"log_scale", given.log_scale});
  return broadcast_parameters("D::Normal", {{"loc", loc}, scale});
}

}  // namespace

Normal::Normal(const ParameterValue& loc, const NormalScale& scale)
    : Normal(Checked{}, loc_and_scale(loc, scale), scale.log_scale.is_given()) {}

Normal::Normal(Checked, const Variables& loc_and_scale, bool is_log)
    : DistributionOf("D::Normal", loc_and_scale[0], loc_and_scale[0].shape()), loc_{loc_and_scale[0]} {
  (is_log ? log_scale_ : scale_) = loc_and_scale[1];
}

Variable Normal::scale() const { return scale_.is_defined() ? scale_ : F::exp(log_scale_); }
Variable Normal::log_scale() const { return log_scale_.is_defined() ? log_scale_ : F::log(scale_); }

std::vector<std::pair<std::string, Variable>> Normal::params() const {
  if (scale_.is_defined()) return {{"loc", loc_}, {"scale", scale_}};
  return {{"loc", loc_}, {"log_scale", log_scale_}};
}

Variable Normal::standardized(const Variable& x) const { return (x - loc_) / scale(); }

Variable Normal::variance() const { return F::square(scale()); }
Variable Normal::entropy() const { return log_scale() + (kHalfLog2Pi + 0.5); }

Variable Normal::do_sample(const Shape& shape) const {
  return loc_ + scale() * normal_noise({shape, dtype(), device()});
}
Variable Normal::do_log_prob(const Variable& x) const {
  return -0.5 * F::square(standardized(x)) - log_scale() - kHalfLog2Pi;
}
Variable Normal::do_cdf(const Variable& x) const { return F::ndtr(standardized(x)); }
Variable Normal::do_log_cdf(const Variable& x) const { return F::log_ndtr(standardized(x)); }
Variable Normal::do_survival_function(const Variable& x) const { return F::ndtr(-standardized(x)); }
Variable Normal::do_log_survival_function(const Variable& x) const { return F::log_ndtr(-standardized(x)); }
Variable Normal::do_icdf(const Variable& p) const {
  return with_edges(p, loc_ + scale() * F::ndtri(inner_share(p)), -kInfinite, kInfinite);
}

Variable divergence(const Normal& p, const Normal& q) {
  const Variable ratio = F::exp(p.log_scale() - q.log_scale()), distance = (p.loc() - q.loc()) / q.scale();
  return q.log_scale() - p.log_scale() + 0.5 * (F::square(ratio) + F::square(distance) - 1);
}

}  // namespace kusari::distributions
