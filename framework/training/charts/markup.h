#pragma once

#include <string>
#include <string_view>

#include "kusari/framework/core/export.h"

namespace kusari::training::charts {

/// Text that stands in HTML or XML, between tags or in quotes: & < > " ' are escaped, and what these files must not
/// hold, control characters and bytes that are no UTF-8, becomes U+FFFD.
KUSARI_API std::string escaped(std::string_view text);

/// A number of a picture's coordinates, to a hundredth: "12.5".
KUSARI_API std::string coordinate(double value);

}  // namespace kusari::training::charts
