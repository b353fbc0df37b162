#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"

// What the readers of files of arrays share.
namespace kusari::serializers {

/// Integers of a type that no array has, at any address, as those of a wider type.
template <class From, class To>
void widen(const void* in, int64_t count, void* out) {
  const char* const from = static_cast<const char*>(in);
  To* const to = static_cast<To*>(out);
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

/// A key as .safetensors files have it: "l1.W".
inline std::string with_dots(std::string key) {
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

/// "9 tensors: 'a', 'b', .." for messages.
inline std::string some_keys(std::span<const std::string> keys, const char* noun) {
  constexpr size_t kMost = 8;
  std::string text = std::to_string(keys.size()) + " " + noun;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i) text += (i == 0 ? ": '" : ", '") + keys[i] + "'";
  return keys.size() > kMost ? text + ", .." : text;
}

}  // namespace kusari::serializers
