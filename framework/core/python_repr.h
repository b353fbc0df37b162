#pragma once

#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// A number as Python's repr prints it: the fewest digits that give the same number again, with an exponent below 1e-4
/// and from 1e16 on. "0.7", "1e-05", "3.0", "nan".
KUSARI_API std::string python_repr(double value);

}  // namespace kusari
