#pragma once

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari::updaters {

/// A function of the variables of a batch, kept for later: any callable that takes n variables and returns one, such as
/// `[&](const Variable& x, const Variable& t) { return F::mean_squared_error(model(x), t); }`, or one that takes them
/// by name, `[&](const DictVariables& batch) { return F::mean_squared_error(model(batch["x"]), batch["t"]); }`. A model
/// is not taken, because it would be copied: give a lambda that refers to it.
class LossFunction {
 public:
  LossFunction() = default;
  template <class F>
  requires(!std::same_as<F, LossFunction> && !std::derived_from<F, Link> && detail::kIsModel<F>)
      LossFunction(F function)
      : call_{[f = std::move(function)](const detail::ModelInputs& inputs) mutable {
          return detail::call_spread(f, inputs, "loss_func");
        }} {}

  /// A function of any number of variables, and the keys of the data set.
  using OfAll = Callable<Variable(std::span<const Variable> inputs, std::span<const std::string> keys)>;
  static LossFunction of_all(OfAll function) {
    LossFunction result;
    result.call_ = [f = std::move(function)](const detail::ModelInputs& inputs) {
      return f(inputs.variables, inputs.keys);
    };
    return result;
  }

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Throws TypeError when the function takes another number of variables.
  Variable operator()(std::span<const Variable> inputs, std::span<const std::string> keys = {}) const {
    return call_({inputs, keys});
  }

 private:
  Callable<Variable(const detail::ModelInputs&)> call_;
};

}  // namespace kusari::updaters
