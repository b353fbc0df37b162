#pragma once

#include <string>
#include <string_view>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// A text as a component of examples: its bytes, uint8 of shape (n). Padded with 0 by a converter, it is read back
/// whole by text_of.
KUSARI_API Array text_array(std::string_view text);

/// The text of a (n) array of uint8, without zeros at its end. Throws TypeError for another array.
KUSARI_API std::string text_of(const Array& bytes);

}  // namespace kusari::datasets
