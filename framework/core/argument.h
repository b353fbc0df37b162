#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/shape.h"

// Rules for arguments that are no arrays (TypeCheck has those for arrays): each gives the argument back, or throws
// ValueError "CALL: NAME is VALUE: it must be ...". `call` is what a user calls: "F::dropout", "L::Linear",
// "StepShift".
namespace kusari::argument {

/// `rule` follows "it must".
[[noreturn]] inline void refuse(std::string_view call, const char* name, const std::string& value, const char* rule) {
  throw ValueError(std::string(call) + ": " + name + " is " + value + ": it must " + rule);
}
inline std::string text_of(double value) { return general_text(value); }
template <std::integral T>
std::string text_of(T value) {
  return std::to_string(value);
}

template <class T>
T require(bool holds, std::string_view call, const char* name, T value, const char* rule) {
  if (!holds) refuse(call, name, text_of(value), rule);
  return value;
}
template <class T>
T positive(std::string_view call, const char* name, T value) {
  return require(value > 0, call, name, value, "be positive");
}
/// Also for sizes, such as a number of channels.
/// How many parts something is made of: from 1 to a number that is beyond any use, so that a mistake does not fill the
/// memory.
inline int64_t count(std::string_view call, const char* name, int64_t value) {
  return require(value >= 1 && value <= 10'000, call, name, value, "be in [1, 10000]");
}
template <class T>
T not_negative(std::string_view call, const char* name, T value) {
  return require(value >= 0, call, name, value, "not be negative");
}
inline double not_nan(std::string_view call, const char* name, double value) {
  return require(!std::isnan(value), call, name, value, "be a number");
}
inline double finite(std::string_view call, const char* name, double value) {
  return require(std::isfinite(value), call, name, value, "be finite");
}
inline double finite_not_negative(std::string_view call, const char* name, double value) {
  return require(value >= 0 && std::isfinite(value), call, name, value, "be finite and not negative");
}
inline double finite_positive(std::string_view call, const char* name, double value) {
  return require(value > 0 && std::isfinite(value), call, name, value, "be positive and finite");
}
inline double at_least_zero(std::string_view call, const char* name, double value) {
  return require(value >= 0, call, name, value, "be at least 0");
}
/// In [0, 1).
inline double zero_to_below_one(std::string_view call, const char* name, double value) {
  return require(value >= 0 && value < 1, call, name, value, "be at least 0 and less than 1");
}
/// A shape without unknown sizes.
inline const Shape& shape(std::string_view call, const char* name, const Shape& value) {
  for (const int64_t each : value) {
    if (each < 0)
      throw ValueError(std::string(call) + ": " + name + " is " + to_string(value) + ": no size of it may be negative");
  }
  return value;
}

/// `meaning`: "name a file".
inline std::string not_empty(std::string_view call, const char* name, std::string text, const char* meaning) {
  if (!text.empty()) return text;
  throw ValueError(std::string(call) + ": " + name + " is empty: it must " + meaning);
}
/// A function that is there.
template <class Function>
Function callable(std::string_view call, const char* name, Function function) {
  if (function) return function;
  throw ValueError(std::string(call) + ": " + name + " is empty: it must be callable");
}

}  // namespace kusari::argument
