#include "kusari/framework/distributions/uniform.h"

#include <numbers>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/noise.h"
#include "kusari/framework/distributions/parameters.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/square.h"

namespace kusari::distributions {

namespace {

Variables ends_of(const UniformParameters& given) {
  const bool has_ends = given.low.is_given() || given.high.is_given();
  const bool has_length = given.loc.is_given() || given.scale.is_given();
  if (has_ends == has_length) {
    throw ValueError("D::Uniform: either low and high or loc and scale must be given, and not both");
  }
  if (has_ends) return broadcast_parameters("D::Uniform", {{"low", given.low}, {"high", given.high}});
  Variables ends = broadcast_parameters("D::Uniform", {{"loc", given.loc}, {"scale", given.scale, true}});
  ends[1] = ends[0] + ends[1];
  return ends;
}

}  // namespace

Uniform::Uniform(const ParameterValue& low, const ParameterValue& high)
    : Uniform(UniformParameters{low, high, {}, {}}) {}

Uniform::Uniform(const UniformParameters& given) : Uniform(Checked{}, ends_of(given)) {}

Uniform::Uniform(Checked, const Variables& ends)
    : DistributionOf("D::Uniform", ends[0], ends[0].shape()), low_{ends[0]}, high_{ends[1]} {}

Variable Uniform::scale() const { return high_ - low_; }

// log(part / scale) of a part and what is left of the scale, either exact where it is small.
Variable Uniform::log_part(const Variable& part, const Variable& rest) const {
  const BoolArray is_large = part > rest, is_some = ~(part <= 0);  // as of NaNs
  const Variable of_large = F::log1p(-where_or(is_large, rest, 0) / scale());
  const Variable of_small = F::log(where_or(is_some & ~is_large, part, 1)) - F::log(scale());
  return where_or(is_some, where_or(~(rest < 0), F::where(is_large, of_large, of_small), 0), -kInfinite);
}

Variable Uniform::mean() const { return 0.5 * (low_ + high_); }
Variable Uniform::variance() const { return F::square(stddev()); }
Variable Uniform::stddev() const { return scale() * (std::numbers::inv_sqrt3 / 2); }
Variable Uniform::entropy() const { return F::log(scale()); }

Variable Uniform::do_sample(const Shape& shape) const {
  return low_ + scale() * uniform_noise({shape, dtype(), device()});
}
Variable Uniform::do_log_prob(const Variable& x) const {
  return where_or((x >= low_) & (x <= high_), -F::log(scale()), -kInfinite);
}
Variable Uniform::do_cdf(const Variable& x) const { return F::clip((x - low_) / scale(), 0, 1); }
Variable Uniform::do_log_cdf(const Variable& x) const { return log_part(x - low_, high_ - x); }
Variable Uniform::do_survival_function(const Variable& x) const { return F::clip((high_ - x) / scale(), 0, 1); }
Variable Uniform::do_log_survival_function(const Variable& x) const { return log_part(high_ - x, x - low_); }
Variable Uniform::do_icdf(const Variable& p) const {
  return where_or((p >= 0) & (p <= 1), low_ + p * scale(), kUndefined);
}

Variable divergence(const Uniform& p, const Uniform& q) {
  const BoolArray is_inside = (p.low() >= q.low()) & (p.high() <= q.high());
  return where_or(is_inside, F::log(q.scale()) - F::log(p.scale()), kInfinite);
}

}  // namespace kusari::distributions
