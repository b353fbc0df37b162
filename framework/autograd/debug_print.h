#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// What to_string gives, and below it device, backend, shape, dtype, mean and standard deviation of the array and of
/// the gradient, a line each. chainer.Variable.debug_print.
KUSARI_API std::string debug_print(const Variable& variable);

/// "(2, 3), float32", or the dtype alone for a variable without axes. Throws StateError for an undefined variable.
/// chainer.Variable.label.
KUSARI_API std::string label(const Variable& variable);

}  // namespace kusari
