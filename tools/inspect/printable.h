#pragma once

#include <string>
#include <string_view>

namespace inspect {

/// The text as a terminal may get it: control characters, characters that turn the direction of writing, and bytes that
/// are no UTF-8 as escapes ("\x1b", "\u202e").
std::string printable(std::string_view text);
/// The same for a text in JSON, where only strings hold such characters: line breaks stay.
std::string printable_json(std::string_view json);

}  // namespace inspect
