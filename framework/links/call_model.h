#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/dict_variables.h"
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
template <class F>
constexpr bool takes_names() {
  // A generic lambda with one argument would not compile when it is asked about names.
  if constexpr (!std::derived_from<F, Link> && takes_some<F>(std::make_index_sequence<kMaxModelInputs + 1>())) {
    return false;
  } else {
    return std::is_invocable_r_v<Variable, F&, const DictVariables&>;
  }
}
/// Whether f(DictVariables) compiles and gives a variable; functions that take variables alone count as such.
template <class F>
inline constexpr bool kTakesNames = takes_names<F>();
/// Whether some number of variables, or variables with names, will do.
template <class F>
inline constexpr bool kIsModel = takes_some<F>(std::make_index_sequence<kMaxModelInputs + 1>()) || kTakesNames<F>;

/// What a model is called with: the variables of a batch, and their names if the data set has keys.
struct ModelInputs {
  std::span<const Variable> variables;
  std::span<const std::string> keys = {};
};

/// `accepted`: by the number of variables. `takes_names`: variables with names alone or too.
[[noreturn]] KUSARI_API void throw_input_count(const char* call, size_t given, std::span<const bool> accepted,
                                               bool takes_names);

template <class F, size_t n, size_t... kIndex>
Variable call_with(F& f, [[maybe_unused]] std::span<const Variable> inputs, std::index_sequence<kIndex...>) {
  return f(inputs[kIndex]...);
}

/// f(inputs[0], ..) for a number of inputs known at run time. Throws TypeError when f takes another number.
template <class F, size_t... kCount>
Variable call_spread(F& f, const ModelInputs& inputs, const char* call, std::index_sequence<kCount...>) {
  Variable result;
  const auto attempt = [&]<size_t n>(std::integral_constant<size_t, n>) {
    if constexpr (kTakesVariables<F, n>) {
      if (inputs.variables.size() != n) return false;
      result = call_with<F, n>(f, inputs.variables, std::make_index_sequence<n>());
      return true;
    } else {
      return false;
    }
  };
  if (!(attempt(std::integral_constant<size_t, kCount>()) || ...)) {
    constexpr bool kAccepted[] = {kTakesVariables<F, kCount>...};
    throw_input_count(call, inputs.variables.size(), kAccepted, kTakesNames<F>);
  }
  return result;
}
/// The same; a function that takes names gets them where there are some.
template <class F>
Variable call_spread(F& f, const ModelInputs& inputs, const char* call) {
  if constexpr (kTakesNames<F>) {
    if (!inputs.keys.empty()) return f(DictVariables(inputs.keys, inputs.variables));
  }
  return call_spread(f, inputs, call, std::make_index_sequence<kMaxModelInputs + 1>());
}

/// How to call a model whose type is known only where it was given.
using CallModel = Variable (*)(Link& model, const ModelInputs& inputs);
template <class Model>
CallModel model_caller() {
  if constexpr (kIsModel<Model>) {
    return [](Link& link, const ModelInputs& inputs) {
      return call_spread(static_cast<Model&>(link), inputs, "the model");
    };
  } else {
    return nullptr;
  }
}

}  // namespace kusari::detail
