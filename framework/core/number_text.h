#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// What printf prints for "%.<digits>g" in the C locale; "nan" without a sign. In the locale that a program chose there
/// may be commas, which pictures, scripts and file names must not have.
KUSARI_API std::string general_text(double value, int digits = 6);
/// The same for "%.<digits>f".
KUSARI_API std::string fixed_text(double value, int digits);
/// With commas between groups of three digits.
KUSARI_API std::string grouped_text(int64_t number);

}  // namespace kusari
