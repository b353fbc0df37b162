#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class KUSARI_API Sha256 {
 public:
  void update(const void* data, size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  /// The digest in 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  std::string hex_digest();

 private:
  void block(const unsigned char* bytes);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;
  unsigned char pending_[64] = {};
};

}  // namespace kusari::datasets
