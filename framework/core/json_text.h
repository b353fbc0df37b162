#pragma once

#include <algorithm>
#include <string>

namespace kusari {

/// A value of nlohmann::json for an error message, as its text; of lists and objects that are long or hold others only
/// what they are: the text of a file's deepest nesting would take more stack than there is.
template <class Json>
std::string json_text(const Json& value) {
  constexpr size_t kMostParts = 8;
  const bool is_plain = !value.is_structured() ||
                        (value.size() <= kMostParts && std::none_of(value.begin(), value.end(), [](const Json& part) {
                           return part.is_structured();
                         }));
  if (is_plain) return value.dump();
  return value.is_array() ? "a list" : "an object";
}

}  // namespace kusari
