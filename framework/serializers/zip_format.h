#pragma once

#include <cstdint>
#include <string>

namespace kusari::serializers::zip_format {

// Signatures and fixed sizes of the records that .ZIP File Format Specification 6.3 (APPNOTE.TXT) defines.
inline constexpr uint32_t kLocalHeader = 0x04034b50;          // 4.3.7
inline constexpr uint32_t kCentralHeader = 0x02014b50;        // 4.3.12
inline constexpr uint32_t kEndOfDirectory = 0x06054b50;       // 4.3.16
inline constexpr uint32_t kZip64EndOfDirectory = 0x06064b50;  // 4.3.14
inline constexpr uint32_t kZip64Locator = 0x07064b50;         // 4.3.15
inline constexpr size_t kLocalHeaderSize = 30;
inline constexpr size_t kCentralHeaderSize = 46;
inline constexpr size_t kEndOfDirectorySize = 22;
inline constexpr size_t kZip64EndOfDirectorySize = 56;
inline constexpr size_t kZip64LocatorSize = 20;
inline constexpr uint16_t kZip64Extra = 0x0001;  // 4.5.3
inline constexpr uint16_t kFlagEncrypted = 1 << 0;
inline constexpr uint16_t kFlagDescriptor = 1 << 3;  // sizes and CRC-32 follow the data
inline constexpr uint16_t kFlagUtf8 = 1 << 11;
inline constexpr uint32_t kMax32 = 0xFFFFFFFF;  // "the value is in the zip64 record"
inline constexpr uint16_t kMax16 = 0xFFFF;

inline uint16_t load16(const char* p) {
  return static_cast<uint16_t>(static_cast<unsigned char>(p[0]) | static_cast<unsigned char>(p[1]) << 8);
}
inline uint32_t load32(const char* p) { return load16(p) | static_cast<uint32_t>(load16(p + 2)) << 16; }
inline uint64_t load64(const char* p) { return load32(p) | static_cast<uint64_t>(load32(p + 4)) << 32; }

/// Appends the low `bytes` bytes of `value`, least significant first.
inline void store(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace kusari::serializers::zip_format
