#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/packed_result.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

// A model without its type, as an InferenceSession keeps it.
namespace kusari::inference {

template <class Result>
inline constexpr bool kIsPackable = false;
template <>
inline constexpr bool kIsPackable<Variable> = true;
template <>
inline constexpr bool kIsPackable<Variables> = true;
template <>
inline constexpr bool kIsPackable<std::vector<Variable>> = true;
template <>
inline constexpr bool kIsPackable<std::pair<Variable, Variable>> = true;
template <std::same_as<Variable>... V>
inline constexpr bool kIsPackable<std::tuple<V...>> = true;

template <class F, size_t... kIndex>
constexpr bool takes(std::index_sequence<kIndex...>) {
  if constexpr (std::invocable<const F&, kusari::detail::InputOf<kIndex>...>) {
    using Result = std::invoke_result_t<const F&, kusari::detail::InputOf<kIndex>...>;
    return kIsPackable<std::remove_cvref_t<Result>>;
  } else {
    return false;
  }
}
/// Whether f(v0, ..) with n variables compiles for a const f and gives variables.
template <class F, size_t n>
inline constexpr bool kTakes = takes<F>(std::make_index_sequence<n>());
template <class F, size_t... kCount>
constexpr bool takes_some(std::index_sequence<kCount...>) {
  return (kTakes<F, kCount> || ...);
}
using Counts = std::make_index_sequence<kusari::detail::kMaxModelInputs + 1>;

/// Whether f.call(variables) compiles, for numbers of variables known at run time: an imported model.
template <class F>
inline constexpr bool kHasCall = requires(const F& f, const Variables& v) {
  requires kIsPackable<std::remove_cvref_t<decltype(f.call(v))>>;
};
template <class F>
constexpr bool takes_span() {
  // A generic lambda with one argument would not compile when it is asked about a span.
  if constexpr (takes_some<F>(Counts())) {
    return false;
  } else {
    return requires(const F& f, std::span<const Variable> v) {
      requires kIsPackable<std::remove_cvref_t<decltype(f(v))>>;
    };
  }
}
/// The same for f(span).
template <class F>
inline constexpr bool kTakesSpan = takes_span<F>();

struct CallableModel {
  Callable<Variables(std::span<const Variable>)> call;
  Link* link = nullptr;        ///< null for a callable that is no link
  std::vector<bool> accepted;  ///< by the number of inputs; empty: the model itself says
  /// A model of its own that shares its arrays with this one; empty where copies may share more.
  Callable<CallableModel()> copied;
  /// Makes what a thread keeps while it converts parameters, and while it records a call and first replays it; may be
  /// empty.
  Callable<std::shared_ptr<void>()> first_call;
};

template <class F>
auto packed(F result) {
  return kusari::detail::PackedResult<F>::flat(std::move(result));
}

template <class F, size_t n>
bool call_with(const F& f, std::span<const Variable> inputs, Variables& results) {
  if constexpr (kTakes<F, n>) {
    if (inputs.size() != n) return false;
    results = [&]<size_t... kIndex>(std::index_sequence<kIndex...>) { return packed(f(inputs[kIndex]...)); }
    (std::make_index_sequence<n>());
    return true;
  } else {
    return false;
  }
}

template <class F, size_t... kCount>
CallableModel callable_model(std::shared_ptr<F> model, std::index_sequence<kCount...>) {
  CallableModel result;
  if constexpr (LinkType<F>) {
    result.link = model.get();
    if constexpr (std::is_copy_constructible_v<F>) {
      result.copied = [model] { return callable_model(std::make_shared<F>(copy(*model)), Counts()); };
    }
  }
  if constexpr (requires(const F& f) { f.first_call(); }) {
    result.first_call = [model] { return model->first_call(); };
  }
  if constexpr (kHasCall<F>) {
    result.call = [model](std::span<const Variable> inputs) {
      Variables given;
      for (const Variable& input : inputs) given.push_back(input);
      return packed(std::as_const(*model).call(given));
    };
  } else if constexpr (kTakesSpan<F>) {
    result.call = [model](std::span<const Variable> inputs) { return packed(std::as_const(*model)(inputs)); };
  } else {
    result.accepted = {kTakes<F, kCount>...};
    result.call = [model](std::span<const Variable> inputs) {
      Variables results;
      (void)(call_with<F, kCount>(*model, inputs, results) || ...);  // one of them: see accepted
      return results;
    };
  }
  return result;
}

/// Keeps a copy of the model, which shares its parameters' arrays, or an rvalue itself.
template <class Model>
CallableModel callable_model(Model&& model) {
  using F = std::remove_cvref_t<Model>;
  static_assert(kHasCall<F> || kTakesSpan<F> || takes_some<F>(Counts()),
                "InferenceSession: the model must have a const operator() of Variables that gives Variable, Variables, "
                "std::vector<Variable>, or a pair or tuple of Variables; one that changes with each call has none");
  if constexpr (LinkType<F> && std::is_lvalue_reference_v<Model>) {
    return callable_model(std::make_shared<F>(copy(model)), Counts());
  } else {
    return callable_model(std::make_shared<F>(std::forward<Model>(model)), Counts());
  }
}

}  // namespace kusari::inference
