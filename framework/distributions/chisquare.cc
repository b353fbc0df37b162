#include "kusari/framework/distributions/chisquare.h"

#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::distributions {

Chisquare::Chisquare(const ParameterValue& k)
    : Chisquare(Checked{}, broadcast_parameters("D::Chisquare", {{"k", k, true}})) {}

Chisquare::Chisquare(Checked, const Variables& parameters)
    : DistributionOf("D::Chisquare", parameters[0], parameters[0].shape()), k_{parameters[0]} {}

Gamma Chisquare::as_gamma() const { return Gamma(k_ * 0.5, 2); }

Variable Chisquare::mode() const { return as_gamma().mode(); }
Variable Chisquare::variance() const { return 2 * k_; }
Variable Chisquare::entropy() const { return as_gamma().entropy(); }

Variable Chisquare::do_sample(const Shape& shape) const {
  Shape free;
  for (int i = 0; i < shape.ndim() - batch_shape().ndim(); ++i) free.push_back(shape[i]);
  return as_gamma().sample(free);
}
Variable Chisquare::do_log_prob(const Variable& x) const { return as_gamma().log_prob(x); }
Variable Chisquare::do_cdf(const Variable& x) const { return as_gamma().cdf(x); }
Variable Chisquare::do_log_cdf(const Variable& x) const { return as_gamma().log_cdf(x); }
Variable Chisquare::do_survival_function(const Variable& x) const { return as_gamma().survival_function(x); }
Variable Chisquare::do_log_survival_function(const Variable& x) const { return as_gamma().log_survival_function(x); }
Variable Chisquare::do_icdf(const Variable& p) const { return as_gamma().icdf(p); }

Variable divergence(const Chisquare& p, const Chisquare& q) {
  return divergence(Gamma(p.k() * 0.5, 2), Gamma(q.k() * 0.5, 2));
}

}  // namespace kusari::distributions
