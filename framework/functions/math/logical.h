#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

// Logic by element: what is not 0 (NaN too) is true. a, b, x: any dtypes, shapes that broadcast. Return bools in the
// common shape, not connected to the arguments. Throw TypeError when the shapes do not broadcast. numpy.logical_and and
// the others.
KUSARI_API Variable logical_and(const Variable& a, const Variable& b);
KUSARI_API Variable logical_or(const Variable& a, const Variable& b);
KUSARI_API Variable logical_xor(const Variable& a, const Variable& b);
KUSARI_API Variable logical_not(const Variable& x);

// Bits of integers by element, in two's complement. a, b: one integer dtype or bool, shapes that broadcast. Return that
// dtype in the common shape, not connected to the arguments. Throw TypeError for other dtypes, or when the shapes do
// not broadcast. numpy.bitwise_and and the others.
KUSARI_API Variable bitwise_and(const Variable& a, const Variable& b);
KUSARI_API Variable bitwise_or(const Variable& a, const Variable& b);
KUSARI_API Variable bitwise_xor(const Variable& a, const Variable& b);
/// Of bool: logical_not.
KUSARI_API Variable bitwise_not(const Variable& x);

// Bits moved by b places: a 2^b without the bits that leave the dtype, a / 2^b rounded down. a, b: one integer dtype,
// not bool, shapes that broadcast. By a negative number of places: 0. Return a's dtype in the common shape, not
// connected to the arguments. Throw TypeError for other dtypes, or when the shapes do not broadcast. numpy.left_shift,
// numpy.right_shift.
KUSARI_API Variable left_shift(const Variable& a, const Variable& b);
KUSARI_API Variable right_shift(const Variable& a, const Variable& b);

}  // namespace kusari::functions
