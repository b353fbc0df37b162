#include "kusari/framework/distributions/distribution.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/distributions/formulas.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sqrt.h"

namespace kusari::distributions {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape result = a;
  for (const int64_t n : b) result.push_back(n);
  return result;
}

}  // namespace

Distribution::Distribution(std::string name, const Variable& parameter, Shape batch_shape, Shape event_shape)
    : Distribution(std::move(name), parameter.dtype(), parameter.device(), std::move(batch_shape),
                   std::move(event_shape)) {}

Distribution::Distribution(std::string name, Dtype dtype, const Device& device, Shape batch_shape, Shape event_shape)
    : name_{std::move(name)},
      batch_shape_{std::move(batch_shape)},
      event_shape_{std::move(event_shape)},
      dtype_{dtype},
      device_{device} {}

Distribution::~Distribution() = default;

void Distribution::throw_unavailable(const char* what) const {
  throw TypeError(name_ + "::" + what + ": this distribution does not offer it");
}

Variable Distribution::constant(double number) const { return Variable(full({}, number, dtype_, device_), false); }

// x in the parameters' dtype, broadcast with the batch.
Variable Distribution::realization(const char* method, const char* argument, const Variable& x) const {
  const std::string call = name_ + "::" + method;
  functions::expect_given(x, call.c_str(), argument);
  if (x.dtype() != dtype_ && !is_integral(x.dtype())) {
    throw TypeError(call + ": " + argument + " has dtype " + kusari::name(x.dtype()) + " but the parameters have " +
                    kusari::name(dtype_) + ": " + argument + " must have theirs, or integers");
  }
  const int events = event_shape_.ndim(), batch = x.ndim() - events;
  bool fits = batch >= 0;
  for (int i = 0; fits && i < events; ++i) fits = x.shape()[batch + i] == event_shape_[i];
  if (!fits) {
    throw TypeError(call + ": " + argument + " has shape " + to_string(x.shape()) +
                    ": its last axes must be those of a sample, " + to_string(event_shape_));
  }
  Shape batch_of_x;
  for (int i = 0; i < batch; ++i) batch_of_x.push_back(x.shape()[i]);
  const Shape common = broadcast_shapes(batch_of_x, batch_shape_, call.c_str());
  return functions::broadcast_to(functions::cast(x, dtype_), joined(common, event_shape_));
}

Variable Distribution::sample(const Shape& shape) const {
  argument::shape(name_ + "::sample", "shape", shape);
  if (shape.ndim() + batch_shape_.ndim() + event_shape_.ndim() > kMaxNdim) {
    throw ValueError(name_ + "::sample: shape is " + to_string(shape) + ", which makes more than " +
                     std::to_string(kMaxNdim) + " axes");
  }
  return do_sample(joined(joined(shape, batch_shape_), event_shape_));
}

Variable Distribution::sample_n(int64_t n) const { return sample({n}); }

Variable Distribution::log_prob(const Variable& x) const { return do_log_prob(realization("log_prob", "x", x)); }
Variable Distribution::prob(const Variable& x) const { return do_prob(realization("prob", "x", x)); }
Variable Distribution::cdf(const Variable& x) const { return do_cdf(realization("cdf", "x", x)); }
Variable Distribution::log_cdf(const Variable& x) const { return do_log_cdf(realization("log_cdf", "x", x)); }
Variable Distribution::survival_function(const Variable& x) const {
  return do_survival_function(realization("survival_function", "x", x));
}
Variable Distribution::log_survival_function(const Variable& x) const {
  return do_log_survival_function(realization("log_survival_function", "x", x));
}
Variable Distribution::icdf(const Variable& p) const { return do_icdf(realization("icdf", "p", p)); }

Variable Distribution::do_sample(const Shape&) const { throw_unavailable("sample"); }
Variable Distribution::do_log_prob(const Variable&) const { throw_unavailable("log_prob"); }
Variable Distribution::do_prob(const Variable& x) const {
  return functions::exp(constant_where_infinite(do_log_prob(x)));
}
Variable Distribution::do_cdf(const Variable&) const { throw_unavailable("cdf"); }
Variable Distribution::do_log_cdf(const Variable& x) const { return log_share(do_cdf(x)); }
Variable Distribution::do_survival_function(const Variable& x) const { return 1 - do_cdf(x); }
Variable Distribution::do_log_survival_function(const Variable& x) const { return log_share(do_survival_function(x)); }
Variable Distribution::do_icdf(const Variable&) const { throw_unavailable("icdf"); }

Variable Distribution::mean() const { throw_unavailable("mean"); }
Variable Distribution::mode() const { throw_unavailable("mode"); }
Variable Distribution::median() const {
  if (event_shape_.ndim() > 0) throw_unavailable("median");
  return do_icdf(Variable(full(batch_shape_, 0.5, dtype_, device_), false));
}
Variable Distribution::variance() const { throw_unavailable("variance"); }
// The root of a variance that underflows to 0 is a constant: it has an infinite slope, and the variance none.
Variable Distribution::stddev() const {
  const Variable square = variance();
  return where_or(square != 0, functions::sqrt(where_or(square != 0, square, 1)), 0);
}
Variable Distribution::covariance() const { throw_unavailable("covariance"); }
Variable Distribution::entropy() const { throw_unavailable("entropy"); }
Variable Distribution::perplexity() const { return functions::exp(entropy()); }

}  // namespace kusari::distributions
