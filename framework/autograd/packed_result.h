#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"

// For functions that take callables of Variables: static_graph(), F::forget.
namespace kusari::detail {

/// How the results of a callable travel: as Variables.
template <class Result>
struct PackedResult {
  static_assert(std::is_same_v<Result, void> && !std::is_same_v<Result, void>,
                "the callable returns Variable, Variables, std::vector<Variable> or a pair or tuple of "
                "Variables");
};
template <>
struct PackedResult<Variable> {
  static Variables flat(Variable result) { return Variables(std::move(result)); }
  static Variable made(Variables results) { return std::move(results[0]); }
};
template <>
struct PackedResult<Variables> {
  static Variables flat(Variables result) { return result; }
  static Variables made(Variables results) { return results; }
};
template <>
struct PackedResult<std::vector<Variable>> {
  static Variables flat(std::vector<Variable> result) {
    Variables flat;
    flat.reserve(result.size());
    for (Variable& variable : result) flat.push_back(std::move(variable));
    return flat;
  }
  static std::vector<Variable> made(Variables results) { return {results.begin(), results.end()}; }
};
template <class Tuple>
struct PackedTuple {
  static Variables flat(Tuple result) {
    return std::apply([](auto&... each) { return Variables(Variable(std::move(each))...); }, result);
  }
  static Tuple made(Variables results) {
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) { return Tuple(std::move(results[kIndex])...); }
    (std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
};
template <std::same_as<Variable>... V>
struct PackedResult<std::tuple<V...>> : PackedTuple<std::tuple<V...>> {};
template <>
struct PackedResult<std::pair<Variable, Variable>> : PackedTuple<std::pair<Variable, Variable>> {};

template <class>
using VariableRef = const Variable&;
template <class F, class... Args>
concept TakesAsVariables =
    (std::convertible_to<const Args&, Variable> && ...) && std::invocable<F&, VariableRef<Args>...>;

}  // namespace kusari::detail
