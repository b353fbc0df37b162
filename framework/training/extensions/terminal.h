#pragma once

#include <cstdio>

namespace kusari::training::extensions {

/// Erases from the cursor to the end of the screen.
inline constexpr const char* kEraseBelow = "\033[J";

/// Whether the stream goes to a terminal that obeys escape sequences.
bool is_terminal(std::FILE* stream);

}  // namespace kusari::training::extensions
