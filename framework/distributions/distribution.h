#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

/// Probability distributions whose parameters are variables: what they compute is differentiable, samples too where a
/// formula leads from noise to them. chainer.distributions.
namespace kusari::distributions {

/// A parameter of a distribution: a variable, an array, which gets no gradient, or a number. A number takes the dtype
/// and device of the parameters beside it, or is config.dtype's on the CPU where all are numbers.
class KUSARI_API ParameterValue {
 public:
  /// Not given.
  ParameterValue() = default;
  ParameterValue(const Variable& value) : value_{value} {}
  template <class T>
  requires std::is_base_of_v<Array, T> ParameterValue(const T& value) : value_{Variable(value, false)} {}
  /// A number.
  template <class T>
  requires std::is_arithmetic_v<T> ParameterValue(T number) : number_{static_cast<double>(number)}, is_number_{true} {}

  bool is_given() const noexcept { return is_number_ || value_.is_defined(); }
  bool is_number() const noexcept { return is_number_; }
  double number() const noexcept { return number_; }
  const Variable& variable() const noexcept { return value_; }

 private:
  Variable value_;
  double number_ = 0;
  bool is_number_ = false;
};

/// A probability distribution, or a batch of them: an independent one for each place of batch_shape(). Each has samples
/// of event_shape(), which is {} for numbers. A value, which shares its parameters with its copies.
///
/// Values x of a sample have any shape that broadcasts, by its axes before event_shape(), with batch_shape(); results
/// have the common shape without event_shape(). x has the parameters' dtype, or is of integers or bools. What a
/// distribution does not offer throws TypeError; so do dtypes and shapes that do not fit, and DeviceError devices.
///
/// A distribution of your own derives from DistributionOf<Yours> and overrides what it knows. chainer.Distribution.
class KUSARI_API Distribution {
 public:
  virtual ~Distribution();

  /// As errors name it: "D::Normal".
  const std::string& name() const noexcept { return name_; }
  const Shape& batch_shape() const noexcept { return batch_shape_; }
  const Shape& event_shape() const noexcept { return event_shape_; }
  Dtype dtype() const noexcept { return dtype_; }
  const Device& device() const noexcept { return device_; }
  /// The parameters under their names, as far as they were given.
  virtual std::vector<std::pair<std::string, Variable>> params() const = 0;
  /// The set that samples come from, in words: "real", "positive", "[0, 1]".
  virtual std::string support() const = 0;
  /// A copy that shares the parameters.
  virtual std::shared_ptr<const Distribution> copy() const = 0;

  /// Independent samples: (shape..., batch_shape..., event_shape...), in the parameters' dtype unless the class says
  /// otherwise. They come from the process's stream of random numbers (random::seed) and are the same for any number of
  /// threads. Connected to the parameters where the class says that samples are differentiable. Throws ValueError for
  /// a negative size.
  Variable sample(const Shape& shape = {}) const;
  /// sample({n}).
  Variable sample_n(int64_t n) const;

  /// The logarithm of the density, or of the probability of x where the distribution is discrete; -inf outside of the
  /// support.
  Variable log_prob(const Variable& x) const;
  Variable prob(const Variable& x) const;
  /// The probability of numbers up to x.
  Variable cdf(const Variable& x) const;
  Variable log_cdf(const Variable& x) const;
  /// 1 - cdf(x), exact where that is small.
  Variable survival_function(const Variable& x) const;
  Variable log_survival_function(const Variable& x) const;
  /// The inverse of cdf: where p of the probability lies at or below it; of a discrete distribution the first such
  /// number. NaN for p outside of [0, 1].
  Variable icdf(const Variable& p) const;

  // Of batch_shape() and event_shape(), in the parameters' dtype; covariance doubles event_shape's axis, entropy and
  // perplexity have none of them.
  virtual Variable mean() const;
  virtual Variable mode() const;
  virtual Variable median() const;  ///< icdf(0.5)
  virtual Variable variance() const;
  virtual Variable stddev() const;  ///< sqrt(variance())
  virtual Variable covariance() const;
  virtual Variable entropy() const;  ///< in nats
  Variable perplexity() const;       ///< exp(entropy())

 protected:
  /// Tells a constructor that its parameters have been checked.
  struct Checked {};

  /// `parameter`: one whose dtype and device are the distribution's.
  Distribution(std::string name, const Variable& parameter, Shape batch_shape, Shape event_shape = {});
  Distribution(std::string name, Dtype dtype, const Device& device, Shape batch_shape, Shape event_shape);
  Distribution(const Distribution&) = default;
  Distribution& operator=(const Distribution&) = default;

  // What subclasses know. x has the parameters' dtype and the common shape already; `shape` is that of the result.
  virtual Variable do_sample(const Shape& shape) const;
  virtual Variable do_log_prob(const Variable& x) const;
  virtual Variable do_prob(const Variable& x) const;
  virtual Variable do_cdf(const Variable& x) const;
  virtual Variable do_log_cdf(const Variable& x) const;
  virtual Variable do_survival_function(const Variable& x) const;
  virtual Variable do_log_survival_function(const Variable& x) const;
  virtual Variable do_icdf(const Variable& p) const;

  /// Throws the TypeError for something that the distribution does not offer.
  [[noreturn]] void throw_unavailable(const char* what) const;
  /// A number as an array that broadcasts, of the distribution's dtype and device.
  Variable constant(double number) const;

 private:
  Variable realization(const char* method, const char* argument, const Variable& x) const;

  std::string name_;
  Shape batch_shape_, event_shape_;
  Dtype dtype_;
  Device device_;
};

/// The base of a distribution class: `class Mine : public DistributionOf<Mine>`.
template <class Self>
class DistributionOf : public Distribution {
 public:
  std::shared_ptr<const Distribution> copy() const override {
    return std::make_shared<Self>(static_cast<const Self&>(*this));
  }

 protected:
  using Distribution::Distribution;
};

}  // namespace kusari::distributions
