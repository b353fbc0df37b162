#include "kusari/framework/datasets/image/exif.h"

#include <algorithm>
#include <cstddef>

namespace kusari::datasets {
namespace {

constexpr int kUpright = 1;
constexpr uint32_t kTagOrientation = 0x0112;
constexpr uint32_t kTypeShort = 3;

uint32_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

/// Orientation in the first directory of a TIFF structure (TIFF 6.0, section 2), which EXIF is.
int tiff_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8) return kUpright;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return kUpright;
  const auto number = [&](size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | tiff[little ? at + count - 1 - i : at + i];
    return value;
  };
  if (number(2, 2) != 42) return kUpright;
  const size_t directory = number(4, 4);
  if (directory > tiff.size() - 2) return kUpright;
  const size_t fields = std::min<size_t>(number(directory, 2), (tiff.size() - directory - 2) / 12);
  for (size_t i = 0; i < fields; ++i) {
    const size_t field = directory + 2 + 12 * i;
    if (number(field, 2) != kTagOrientation) continue;
    if (number(field + 2, 2) != kTypeShort || number(field + 4, 4) != 1) return kUpright;
    const uint32_t value = number(field + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

}  // namespace

int jpeg_orientation(std::span<const uint8_t> bytes) {
  constexpr uint8_t kApp1 = 0xE1, kStartOfScan = 0xDA, kEndOfImage = 0xD9;
  constexpr uint8_t kExif[6] = {'E', 'x', 'i', 'f', 0, 0};
  size_t at = 2;  // after the signature
  while (bytes.size() >= 4 && at <= bytes.size() - 4 && bytes[at] == 0xFF) {
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    const size_t length = big_endian(bytes, at + 2, 2);
    if (length < 2 || length > bytes.size() - at - 2) break;
    const std::span<const uint8_t> content = bytes.subspan(at + 4, length - 2);
    if (marker == kApp1 && content.size() > sizeof(kExif) &&
        std::equal(std::begin(kExif), std::end(kExif), content.begin())) {
      return tiff_orientation(content.subspan(sizeof(kExif)));
    }
    at += 2 + length;
  }
  return kUpright;
}

int png_orientation(std::span<const uint8_t> bytes) {
  constexpr uint32_t kExif = 0x65584966;  // "eXIf"
  constexpr size_t kAround = 12;          // length, type and CRC of a chunk
  size_t at = 8;                          // after the signature
  while (bytes.size() >= kAround && at <= bytes.size() - kAround) {
    const size_t length = big_endian(bytes, at, 4);
    if (length > bytes.size() - at - kAround) break;
    if (big_endian(bytes, at + 4, 4) == kExif) return tiff_orientation(bytes.subspan(at + 8, length));
    at += kAround + length;
  }
  return kUpright;
}

}  // namespace kusari::datasets
