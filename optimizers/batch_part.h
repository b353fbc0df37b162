#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// The examples first, first + step, ... of a batch.
struct BatchPart {
  int64_t first, step;

  /// How many there are in a batch of n.
  int64_t count(int64_t n) const noexcept { return n > first ? (n - first + step - 1) / step : 0; }
  KUSARI_API Variable of(const Variable& batch) const;
  /// What is no variable, all parts have.
  template <class T>
  decltype(auto) of(T& other) const {
    if constexpr (std::same_as<std::remove_const_t<T>, Variable>) {
      return of(std::as_const(other));
    } else {
      return (other);
    }
  }
};

using LossOfPart = Callable<Variable(const BatchPart& part)>;

/// The first axis of the first variable that has one; negative: there is none.
template <class... Args>
int64_t examples_of(const Args&... args) {
  int64_t examples = -1;
  [[maybe_unused]] const auto look_at = [&](const auto& argument) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(argument)>, Variable>) {
      if (examples < 0 && argument.is_defined() && argument.ndim() > 0) examples = argument.shape(0);
    }
  };
  (look_at(args), ...);
  return examples;
}

/// Whether a loss function can be called with parts of these arguments.
template <class F, class... Args>
concept TakesParts =
    (std::same_as<std::remove_cvref_t<Args>, Variable> || ...) &&
    std::is_invocable_r_v<
        Variable, F&, decltype(std::declval<const BatchPart&>().of(std::declval<std::remove_reference_t<Args>&>()))...>;

/// The lowest bits of `value` below `size`, a power of two, in the opposite order.
constexpr int64_t bit_reversed(int64_t value, int64_t size) noexcept {
  int64_t reversed = 0;
  for (; size > 1; size /= 2, value /= 2) reversed = 2 * reversed + value % 2;
  return reversed;
}

}  // namespace kusari::detail
