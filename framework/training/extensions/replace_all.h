#pragma once

#include <string>

namespace kusari::training::extensions {

/// Puts `value` in the place of each `field` of the text; fields in the value stay.
inline void replace_all(std::string& text, const std::string& field, const std::string& value) {
  for (size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + value.size())) {
    text.replace(at, field.size(), value);
  }
}

}  // namespace kusari::training::extensions
