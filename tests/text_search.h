#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kusari::testing {

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// How often `part` occurs in a text, without overlaps.
inline size_t occurrences(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace kusari::testing
