#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"

namespace kusari::functions {

/// For functions that look at an argument before their node's rules do. Throws TypeError for an undefined one, in the
/// words of the rules. `call` is the function's name without "F::".
inline void expect_given(const Variable& value, const std::string& call, const char* argument) {
  if (!value.is_defined()) throw TypeError("F::" + call + ": " + argument + " is not given: it is required");
}

}  // namespace kusari::functions
