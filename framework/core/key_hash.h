#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kusari {

/// Hash of a key that is made of eight-byte members alone, so that its bytes are its value.
template <class Key>
size_t hash_words(const Key& key) noexcept {
  static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) % 8 == 0);
  uint64_t words[sizeof(Key) / 8];
  std::memcpy(words, &key, sizeof(Key));
  uint64_t hash = 0;
  for (const uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace kusari
