#pragma once

#include <string>

namespace kusari::testing {

/// Path of a file of the golden data, which lies in tests/golden.
inline std::string golden_path(const std::string& name) { return KUSARI_SOURCE_DIR "/tests/golden/" + name; }

}  // namespace kusari::testing
