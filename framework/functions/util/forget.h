#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/packed_result.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Calls a function without keeping its intermediate results: backward calls it again to have them.
///
///     h = F::forget([&](const Variable& x) { return F::relu(model.bn(model.conv(x))); }, h);
///
/// function: takes variables, one for each of xs, and returns Variable, Variables, std::vector<Variable> or a pair or
/// tuple of variables. It is copied, but a link given by name is used where it is: that link, and what a lambda refers
/// to, must be there until backward. Returns what the function returns. Gradients go to xs and to everything else that
/// the function used, such as parameters, as if it had been called directly.
/// The second call finds config, amp::Autocast and random numbers as they were, so that F::dropout drops the same
/// elements, and config.in_recomputing true, by which links know that they must not count it. It must do the same:
/// throws TypeError when results have other shapes or dtypes, StateError when other numbers of random numbers are
/// drawn. A static graph refuses to draw random numbers inside. Differentiable to any order, each order at the price of
/// further calls. chainer.functions.forget.
template <class Function, class... Xs>
requires kusari::detail::TakesAsVariables<std::remove_reference_t<Function>, Xs...>
auto forget(Function&& function, const Xs&... xs);

namespace detail {

KUSARI_API Variables forget(Callable<Variables(const Variables&)> function, const Variables& xs);

/// A link cannot be copied without giving it other parameters.
template <class T>
concept HasParameters = requires(T& object) {
  object.params();
};
/// So it is called where it is.
template <class T>
struct CalledInPlace {
  explicit CalledInPlace(T& called) noexcept : object{called} {}
  T& object;
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return object(std::forward<Args>(args)...);
  }
};
template <class Function>
using HeldFunction =
    std::conditional_t<std::is_lvalue_reference_v<Function> && HasParameters<std::remove_reference_t<Function>>,
                       CalledInPlace<std::remove_reference_t<Function>>, std::decay_t<Function>>;

}  // namespace detail

template <class Function, class... Xs>
requires kusari::detail::TakesAsVariables<std::remove_reference_t<Function>, Xs...>
auto forget(Function&& function, const Xs&... xs) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Function&, kusari::detail::VariableRef<Xs>...>>;
  using Packed = kusari::detail::PackedResult<Result>;
  const auto held = std::make_shared<detail::HeldFunction<Function>>(std::forward<Function>(function));
  const auto call = [held](const Variables& given) {
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) { return Packed::flat((*held)(given[kIndex]...)); }
    (std::index_sequence_for<Xs...>());
  };
  const auto converted = [](Variable argument) { return argument; };  // implicitly: a raw array gets no gradient
  Variables arguments;
  (arguments.push_back(converted(xs)), ...);
  return Packed::made(detail::forget(call, arguments));
}

/// The same for any number of arguments, which the function gets together.
template <std::same_as<Variables> Xs>
Variables forget(Callable<Variables(const Variables&)> function, const Xs& xs) {
  return detail::forget(std::move(function), xs);
}

}  // namespace kusari::functions
