#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

// Comparisons by element. a, b: any dtypes, shapes that broadcast; exact between integers, in float64 where an integer
// meets a floating number; NaN equals nothing. Return bools in the common shape, not connected to a and b. Throw
// TypeError when the shapes do not broadcast. The operators of variables (a < b) give the same as an array.
KUSARI_API Variable equal(const Variable& a, const Variable& b);
KUSARI_API Variable not_equal(const Variable& a, const Variable& b);
KUSARI_API Variable less(const Variable& a, const Variable& b);
KUSARI_API Variable less_equal(const Variable& a, const Variable& b);
KUSARI_API Variable greater(const Variable& a, const Variable& b);
KUSARI_API Variable greater_equal(const Variable& a, const Variable& b);

/// Whether elements are NaN.
/// x: any shape and dtype. Returns bools of x's shape, not connected to x. numpy.isnan.
KUSARI_API Variable isnan(const Variable& x);

/// Which infinities isinf speaks of.
struct IsinfOptions {
  bool positive = true;
  bool negative = true;
};

/// Whether elements are infinite.
/// x: any shape and dtype. Returns bools of x's shape, not connected to x. numpy.isinf, isposinf, isneginf.
KUSARI_API Variable isinf(const Variable& x, const IsinfOptions& options = {});

}  // namespace kusari::functions
