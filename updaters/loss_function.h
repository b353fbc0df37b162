#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari::updaters {

/// A function of the variables of a batch, kept for later: any callable that takes n variables and returns one, such as
/// `[&](const Variable& x, const Variable& t) { return F::mean_squared_error(model(x), t); }`.
/// A model is not taken, because it would be copied: give a lambda that refers to it.
class LossFunction {
 public:
  LossFunction() = default;
  template <class F>
  requires(!std::same_as<F, LossFunction> && !std::derived_from<F, Link> && detail::kIsModel<F>)
      LossFunction(F function)
      : call_{[f = std::move(function)](std::span<const Variable> inputs) mutable {
          return detail::call_spread(f, inputs, "loss_func");
        }} {}

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Throws TypeError when the function takes another number of variables.
  Variable operator()(std::span<const Variable> inputs) const { return call_(inputs); }

 private:
  std::function<Variable(std::span<const Variable>)> call_;
};

}  // namespace kusari::updaters
