#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"

namespace kusari::detail {

/// Most variables that one call of a model takes.
inline constexpr size_t kMaxModelInputs = 8;

template <size_t>
using InputOf = const Variable&;

template <class F, size_t... kIndex>
constexpr bool takes_variables(std::index_sequence<kIndex...>) {
  return std::is_invocable_r_v<Variable, F&, InputOf<kIndex>...>;
}
/// Whether f(v0, ..) with n variables compiles and gives a variable.
template <class F, size_t n>
inline constexpr bool kTakesVariables = takes_variables<F>(std::make_index_sequence<n>());

template <class F, size_t... kIndex>
constexpr bool takes_some(std::index_sequence<kIndex...>) {
  return (kTakesVariables<F, kIndex> || ...);
}
/// Whether some number of variables will do.
template <class F>
inline constexpr bool kIsModel = takes_some<F>(std::make_index_sequence<kMaxModelInputs + 1>());

[[noreturn]] KUSARI_API void throw_input_count(const char* call, size_t given, std::span<const bool> accepted);

template <class F, size_t n, size_t... kIndex>
Variable call_with(F& f, [[maybe_unused]] std::span<const Variable> inputs, std::index_sequence<kIndex...>) {
  return f(inputs[kIndex]...);
}

/// f(inputs[0], ..) for a number of inputs known at run time. Throws TypeError when f takes another number.
template <class F, size_t... kCount>
Variable call_spread(F& f, std::span<const Variable> inputs, const char* call, std::index_sequence<kCount...>) {
  Variable result;
  const auto attempt = [&]<size_t n>(std::integral_constant<size_t, n>) {
    if constexpr (kTakesVariables<F, n>) {
      if (inputs.size() != n) return false;
      result = call_with<F, n>(f, inputs, std::make_index_sequence<n>());
      return true;
    } else {
      return false;
    }
  };
  if (!(attempt(std::integral_constant<size_t, kCount>()) || ...)) {
    constexpr bool kAccepted[] = {kTakesVariables<F, kCount>...};
    throw_input_count(call, inputs.size(), kAccepted);
  }
  return result;
}
template <class F>
Variable call_spread(F& f, std::span<const Variable> inputs, const char* call) {
  return call_spread(f, inputs, call, std::make_index_sequence<kMaxModelInputs + 1>());
}

/// How to call a model whose type is known only where it was given.
using CallModel = Variable (*)(Link& model, std::span<const Variable> inputs);
template <class Model>
CallModel model_caller() {
  if constexpr (kIsModel<Model>) {
    return [](Link& link, std::span<const Variable> inputs) {
      return call_spread(static_cast<Model&>(link), inputs, "the model");
    };
  } else {
    return nullptr;
  }
}

}  // namespace kusari::detail
