#include "kusari/optimizers/composed_optimizer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/optimizers/step_launch.h"

namespace kusari {

namespace {

constexpr size_t kMaxHyperparameters = std::size(decltype(kernels::ComposedSchedule::values){});
static_assert(sizeof(kernels::ComposedNumbers) == (kMaxHyperparameters + 1) * sizeof(double));

/// What a step computes with.
Array widened(const Array& array) { return is_half(array.dtype()) ? array.astype(Dtype::float32) : array; }

std::string joined(std::span<const char* const> names) {
  std::string text;
  for (const char* const name : names) text += std::string(text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

StepNumber ParameterStep::operator[](const std::string& hyperparameter) const {
  for (size_t i = 0; i < hyperparameters_.size(); ++i) {
    if (hyperparameter == hyperparameters_[i]) return StepNumber(numbers_.at(static_cast<int64_t>(i)));
  }
  throw KeyError(subject("step[]") + ": there is no hyperparameter '" + hyperparameter + "': there are " +
                 joined(hyperparameters_));
}

StepNumber ParameterStep::t() const { return StepNumber(numbers_.at(kMaxHyperparameters)); }

size_t ParameterStep::index_of(const std::string& state, const char* call) const {
  for (size_t k = 0; k < states_.size(); ++k) {
    if (states_[k] == state) return 1 + k;
  }
  std::vector<const char*> known;
  for (const std::string& name : states_) known.push_back(name.c_str());
  throw KeyError(subject(call) + ": there is no state '" + state + "': there are " + joined(known));
}

void ParameterStep::set(size_t index, const Array& value) {
  const std::string what = index == 0 ? "set_parameter" : "set_state(" + states_[index - 1] + ")";
  if (!value.is_defined()) throw StateError(subject(what.c_str()) + ": value is an undefined array");
  if (value.shape() != values_[index].shape()) {
    throw TypeError(subject(what.c_str()) + ": value has shape " + to_string(value.shape()) + ": it must have " +
                    to_string(values_[index].shape()));
  }
  results_[index] = value;
}

ComposedOptimizer::ComposedOptimizer(std::string name, std::vector<std::string> states)
    : name_{std::move(name)}, states_{std::move(states)} {
  std::set<std::string> taken{"t", "fp32_param", "hyperparam"};
  for (const std::string& state : states_) {
    if (state.empty() || state.find('/') != std::string::npos || !taken.insert(state).second) {
      throw ValueError(name_ + ": the state '" + state +
                       "' must have a name of its own, without '/', and not t, fp32_param or hyperparam");
    }
    state_texts_.push_back(state.c_str());
  }
}

Shape ComposedOptimizer::shape_of_state(const std::string&, const Shape& parameter) const { return parameter; }
double ComposedOptimizer::initial_value(const std::string&) const { return 0; }

// fields() is not const, because callers may write through it.
std::vector<Optimizer::Field> ComposedOptimizer::own_fields() const {
  std::vector<Field> fields = const_cast<ComposedOptimizer*>(this)->fields();
  if (fields.size() > kMaxHyperparameters) {
    throw ValueError(name_ + ": fields() lists " + std::to_string(fields.size()) +
                     " hyperparameters: " + std::to_string(kMaxHyperparameters) + " are possible");
  }
  return fields;
}

std::span<const char* const> ComposedOptimizer::state_names() const noexcept { return state_texts_; }

detail::StepMethod ComposedOptimizer::method() const {
  kernels::ComposedSchedule schedule{};
  size_t n = 0;
  for (const Field& field : own_fields()) schedule.values[n++] = *field.value;
  return detail::StepMethod::scheduled(schedule, [](const Optimizer& self, const detail::StepLaunch& step) {
    static_cast<const ComposedOptimizer&>(self).launch_step(step);
  });
}

void ComposedOptimizer::launch_step(const detail::StepLaunch& launch) const {
  const size_t n = launch.gradients.arrays().size();
  std::vector<const char*> hyperparameters;
  for (const Field& field : own_fields()) hyperparameters.push_back(field.name);
  const Array finite = launch.guard.is_defined() ? Array(xp::isfinite(launch.guard.reshape({}))) : Array();
  for (size_t i = 0; i < n; ++i) {
    ParameterStep step(*this, hyperparameters, states_, launch.numbers);
    std::vector<Array> targets;
    for (size_t k = 0; k <= states_.size(); ++k) targets.push_back(launch.arrays.arrays()[k * n + i]);
    for (const Array& target : targets) step.values_.push_back(widened(target));
    step.results_.resize(targets.size());
    step.gradient_ = launch.gradients.arrays()[i].astype(step.parameter().dtype());
    if (launch.loss_scale.is_defined()) {
      step.gradient_ = step.gradient_ / StepNumber(launch.loss_scale.reshape({}));
    }
    update_core(step);
    // A result may be a view of an array that another one is written to.
    for (Array& result : step.results_) {
      const auto shares = [&](const Array& target) { return &target.storage() == &result.storage(); };
      if (result.is_defined() && std::any_of(targets.begin(), targets.end(), shares)) result = result.copy();
    }
    for (size_t k = 0; k < targets.size(); ++k) {
      const Array& result = step.results_[k];
      if (!result.is_defined()) continue;
      targets[k].copy_from(finite.is_defined() ? xp::where(finite, result, targets[k]) : result);
    }
    if (!launch.copies.arrays().empty()) launch.copies.arrays()[i].copy_from(targets[0]);
  }
}

}  // namespace kusari
