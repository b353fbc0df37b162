#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

// What constructors of extensions and triggers ask of their arguments. `call` is the name of the class.
namespace kusari::training::arguments {

/// Throws ValueError for NaN and infinity.
inline double finite(const char* call, const char* argument, double value) {
  if (std::isfinite(value)) return value;
  throw ValueError(std::string(call) + ": " + argument + " is " + general_text(value) + ": it must be finite");
}

/// Throws ValueError for a negative number, NaN and infinity.
inline double not_negative(const char* call, const char* argument, double value) {
  if (value >= 0 && std::isfinite(value)) return value;
  throw ValueError(std::string(call) + ": " + argument + " is " + general_text(value) +
                   ": it must be finite and not negative");
}

/// Throws ValueError unless the number is above 0.
inline double positive(const char* call, const char* argument, double value) {
  if (value > 0) return value;
  throw ValueError(std::string(call) + ": " + argument + " is " + general_text(value) + ": it must be positive");
}

/// Throws ValueError for an empty text. `meaning`: "name a file".
inline std::string not_empty(const char* call, const char* argument, std::string text, const char* meaning) {
  if (!text.empty()) return text;
  throw ValueError(std::string(call) + ": " + argument + " is empty: it must " + meaning);
}

/// Throws ValueError for an empty function.
template <class Function>
Function callable(const char* call, const char* argument, Function function) {
  if (function) return function;
  throw ValueError(std::string(call) + ": " + argument + " is empty: it must be callable");
}

}  // namespace kusari::training::arguments
