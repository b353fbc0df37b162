#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari {

namespace detail {
struct StepLaunch;
}

/// A number of a step, such as a hyperparameter: one float64 element in the memory of the parameter's device, which a
/// replayed step finds as it is then. Beside an array it takes the array's dtype.
class KUSARI_API StepNumber {
 public:
  explicit StepNumber(const Array& value) : value_{value} {}
  /// (), float64.
  const Array& array() const noexcept { return value_; }
  Array as(Dtype dtype) const { return value_.astype(dtype); }

#define KUSARI_STEP_NUMBER_OPERATOR(op)                                                                                \
  friend StepNumber operator op(const StepNumber& a, const StepNumber& b) { return StepNumber(a.value_ op b.value_); } \
  friend StepNumber operator op(const StepNumber& a, double b) { return StepNumber(a.value_ op Scalar(b)); }           \
  friend StepNumber operator op(double a, const StepNumber& b) { return StepNumber(Scalar(a) op b.value_); }           \
  friend Array operator op(const StepNumber& a, const Array& b) { return a.as(b.dtype()) op b; }                       \
  friend Array operator op(const Array& a, const StepNumber& b) { return a op b.as(a.dtype()); }
  KUSARI_STEP_NUMBER_OPERATOR(+)
  KUSARI_STEP_NUMBER_OPERATOR(-)
  KUSARI_STEP_NUMBER_OPERATOR(*)
  KUSARI_STEP_NUMBER_OPERATOR(/)
#undef KUSARI_STEP_NUMBER_OPERATOR
  friend StepNumber operator-(const StepNumber& a) { return StepNumber(-a.value_); }

 private:
  Array value_;
};

namespace xp {

inline StepNumber sqrt(const StepNumber& a) { return StepNumber(sqrt(a.array())); }
#define KUSARI_STEP_NUMBER_FUNCTION(name)                                                                             \
  inline StepNumber name(const StepNumber& a, const StepNumber& b) { return StepNumber(name(a.array(), b.array())); } \
  inline StepNumber name(const StepNumber& a, double b) { return StepNumber(name(a.array(), Scalar(b))); }            \
  inline StepNumber name(double a, const StepNumber& b) { return StepNumber(name(Scalar(a), b.array())); }            \
  inline Array name(const StepNumber& a, const Array& b) { return name(a.as(b.dtype()), b); }                         \
  inline Array name(const Array& a, const StepNumber& b) { return name(a, b.as(a.dtype())); }
KUSARI_STEP_NUMBER_FUNCTION(pow)
KUSARI_STEP_NUMBER_FUNCTION(maximum)
KUSARI_STEP_NUMBER_FUNCTION(minimum)
#undef KUSARI_STEP_NUMBER_FUNCTION

}  // namespace xp

/// What a step of a ComposedOptimizer sees of one parameter, and what it changes. 16-bit parameters and their state are
/// seen in float32, and rounded when the step is done.
class KUSARI_API ParameterStep {
 public:
  ParameterStep(const ParameterStep&) = delete;
  ParameterStep& operator=(const ParameterStep&) = delete;

  /// The parameter, or its float32 copy.
  const Array& parameter() const noexcept { return values_[0]; }
  /// Its gradient, in the parameter's shape and dtype, without a loss scale.
  const Array& gradient() const noexcept { return gradient_; }
  /// Throws KeyError, as set_state does, for a name that the optimizer does not have.
  const Array& state(const std::string& name) const { return values_[index_of(name, "state")]; }
  /// A hyperparameter as it is for this parameter; KeyError for a name that the optimizer does not have.
  StepNumber operator[](const std::string& hyperparameter) const;
  /// The number of this step for this parameter, from 1 on.
  StepNumber t() const;

  /// The new values, which are written when update_core is done: until then everything reads as it was. TypeError for
  /// another shape than before. Steps that overflowed change nothing.
  void set_parameter(const Array& value) { set(0, value); }
  void set_state(const std::string& name, const Array& value) { set(index_of(name, "set_state"), value); }

 private:
  friend class ComposedOptimizer;
  ParameterStep(const Optimizer& optimizer, std::span<const char* const> hyperparameters,
                std::span<const std::string> states, const Array& numbers)
      : optimizer_{optimizer}, hyperparameters_{hyperparameters}, states_{states}, numbers_{numbers} {}
  size_t index_of(const std::string& state, const char* call) const;
  void set(size_t index, const Array& value);
  std::string subject(const char* call) const { return std::string(optimizer_.name()) + "::update_core: " + call; }

  const Optimizer& optimizer_;
  std::span<const char* const> hyperparameters_;
  std::span<const std::string> states_;
  const Array& numbers_;
  Array gradient_;
  std::vector<Array> values_, results_;  // the parameter, then the states; undefined results change nothing
};

/// An optimizer whose step is written with operations of arrays, so that it needs no kernel of its own and runs on
/// every device. It is a class of the user's:
///
///     class Lion : public ComposedOptimizer {
///      public:
///       double lr = 1e-4, beta1 = 0.9, beta2 = 0.99;
///       Lion() : ComposedOptimizer("Lion", {"m"}) {}
///
///      private:
///       std::vector<Field> fields() override { return {{"lr", &lr}, {"beta1", &beta1}, {"beta2", &beta2}}; }
///       void update_core(ParameterStep& step) const override {
///         const Array &g = step.gradient(), &m = step.state("m");
///         step.set_parameter(step.parameter() - step["lr"] * xp::sign(step["beta1"] * m + (1 - step["beta1"]) * g));
///         step.set_state("m", step["beta2"] * m + (1 - step["beta2"]) * g);
///       }
///     };
///
/// All that Optimizer offers works: hooks, float32 copies, loss scaling, hyperparameters of single parameters,
/// snapshots and static graphs, which record update_core once: what it decides on the host stays as it was then.
/// fields() must list the same hyperparameters each time, 15 at most. A step is several kernels for each parameter; the
/// built-in optimizers need one for all. chainer.UpdateRule.update_core.
class KUSARI_API ComposedOptimizer : public Optimizer {
 public:
  const char* name() const override { return name_.c_str(); }

 protected:
  /// `states`: names of the arrays that each parameter has. Throws ValueError for a name that comes twice, and for
  /// those that the optimizer itself uses in snapshots ("t", "fp32_param", "hyperparam").
  ComposedOptimizer(std::string name, std::vector<std::string> states);

  /// One step of one parameter. Called on the thread of update().
  virtual void update_core(ParameterStep& step) const = 0;
  /// The shape of a state of a parameter of that shape; the same if not overridden.
  virtual Shape shape_of_state(const std::string& state, const Shape& parameter) const;
  /// What the elements of a state are before the first step: 0 if not overridden.
  virtual double initial_value(const std::string& state) const;

 private:
  std::span<const char* const> state_names() const noexcept final;
  Shape state_shape(size_t k, const Shape& parameter) const final { return shape_of_state(states_[k], parameter); }
  double initial_state(size_t k) const final { return initial_value(states_[k]); }
  std::vector<Field> own_fields() const;
  detail::StepMethod method() const final;
  bool is_elementwise() const noexcept final { return false; }  // who knows
  void launch_step(const detail::StepLaunch& step) const;

  std::string name_;
  std::vector<std::string> states_;
  std::vector<const char*> state_texts_;  // of states_
};

}  // namespace kusari
