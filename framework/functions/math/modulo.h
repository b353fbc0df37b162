#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Whose sign a remainder has: the divisor's, as in Python, or the dividend's, as in C.
enum class ModuloSign : uint8_t { divisor, dividend };

/// The remainder of a / b, with the quotient rounded down (ModuloSign::divisor) or towards zero (dividend).
/// a, b: one dtype, shapes that broadcast. Returns that dtype in the common shape; of integers by 0: 0. Throws
/// TypeError for two dtypes or bool, or when the shapes do not broadcast. Differentiable to any order where a and b are
/// floating; the quotient counts as a constant. numpy.remainder, numpy.fmod.
KUSARI_API Variable modulo(const Variable& a, const Variable& b, ModuloSign sign = ModuloSign::divisor);

}  // namespace kusari::functions
