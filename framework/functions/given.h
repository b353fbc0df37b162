#pragma once

#include <span>
#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"

// For functions that look at arguments before their node's rules do, in the words of the rules. `call` is the
// function's name, "F::relu". Rules for numbers: core/argument.h.
namespace kusari::functions {

[[noreturn, gnu::noinline]] inline void throw_not_given(const Variable& value, const char* call, const char* argument) {
  if (!value.is_defined()) throw TypeError(std::string(call) + ": " + argument + " is not given: it is required");
  throw StateError(std::string(call) + ": " + argument + " has no array (an uninitialised parameter?)");
}

/// Throws TypeError for an undefined argument, StateError for a parameter that waits for its shape.
inline void expect_given(const Variable& value, const char* call, const char* argument) {
  if (!value.is_defined() || !value.node()->array.is_defined()) [[unlikely]]
    throw_not_given(value, call, argument);
}

inline void expect_given(const Array& value, const char* call, const char* argument) {
  if (!value.is_defined()) {
    throw TypeError(std::string(call) + ": " + argument + " is not given: it is required");
  }
}

/// The same for each argument of a list.
inline void expect_all_given(std::span<const Variable> xs, const char* call) {
  for (size_t i = 0; i < xs.size(); ++i) expect_given(xs[i], call, ("xs[" + std::to_string(i) + "]").c_str());
}

/// For a function that is made of others.
inline void expect_floating(const Variable& value, const char* call, const char* argument) {
  expect_given(value, call, argument);
  if (!is_floating(value.dtype())) {
    throw TypeError(std::string(call) + ": " + argument + " has dtype " + name(value.dtype()) + ": " + argument +
                    ".dtype must be floating");
  }
}

/// What a method of arrays returns; its errors, "reshape: ...", are the function's, "F::reshape: ...".
template <class Method>
auto as_function(const Method& method) {
  try {
    return method();
  } catch (const TypeError& e) {
    throw TypeError(std::string("F::") + e.what());
  } catch (const ValueError& e) {
    throw ValueError(std::string("F::") + e.what());
  }
}

}  // namespace kusari::functions
