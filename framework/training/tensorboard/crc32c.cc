#include "kusari/framework/training/tensorboard/crc32c.h"

#include <array>

namespace kusari::training::tensorboard {
namespace {

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
    table[i] = crc;
  }
  return table;
}();

}  // namespace

uint32_t crc32c(std::string_view data) noexcept {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

// tensorflow/tsl/lib/hash/crc32c.h
uint32_t masked_crc32c(std::string_view data) noexcept {
  const uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace kusari::training::tensorboard
