#pragma once

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari {
namespace detail {

template <class Call>
struct FirstArgument {};
template <class R, class M, class... Rest>
struct FirstArgument<R (*)(M&, Rest...)> {
  using type = M;
};
template <class R, class C, class M, class... Rest>
struct FirstArgument<R (C::*)(M&, Rest...) const> {
  using type = M;
};

/// The class of the model that F takes by reference as its first argument.
template <class F>
struct ModelOf {};
template <class F>
requires requires { typename FirstArgument<F>::type; }
struct ModelOf<F> : FirstArgument<F> {};
template <class F>
requires requires { typename FirstArgument<decltype(&F::operator())>::type; }
struct ModelOf<F> : FirstArgument<decltype(&F::operator())> {};

}  // namespace detail

namespace updaters {

/// A loss of a model, which is whichever replica computes it, and of the variables of a batch:
/// `[](Mlp& model, const Variable& x, const Variable& t) { return F::mean_squared_error(model(x), t); }`. A const
/// callable whose first argument names the class of the model; several threads call it at once.
class ReplicaLoss {
 public:
  ReplicaLoss() = default;
  template <class F>
  requires LinkType<typename detail::ModelOf<F>::type> ReplicaLoss(F function)
      : call_{[f = std::move(function)](Link& link, const detail::ModelInputs& inputs) {
          using Model = typename detail::ModelOf<F>::type;
          auto* const model = dynamic_cast<Model*>(&link);
          if (model == nullptr) throw TypeError("loss_func takes a model of another class than the replicas'");
          const auto spread = [&]<class... Inputs>(
              const Inputs&... variables) requires std::is_invocable_r_v<Variable, const F&, Model&, const Inputs&...> {
            return Variable(f(*model, variables...));
          };
          return detail::call_spread(spread, inputs, "loss_func");
        }} {}

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Throws TypeError when the function takes another number of variables, or another model.
  Variable operator()(Link& model, std::span<const Variable> inputs, std::span<const std::string> keys = {}) const {
    return call_(model, {inputs, keys});
  }

 private:
  Callable<Variable(Link&, const detail::ModelInputs&)> call_;
};

}  // namespace updaters
}  // namespace kusari
