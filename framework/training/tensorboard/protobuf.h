#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::training::tensorboard {

/// A message in the wire format of Protocol Buffers, field by field.
class Message {
 public:
  Message& integer(uint32_t field, uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  Message& real(uint32_t field, double value) {
    tag(field, 1);
    fixed(std::bit_cast<uint64_t>(value), 8);
    return *this;
  }
  Message& real32(uint32_t field, float value) {
    tag(field, 5);
    fixed(std::bit_cast<uint32_t>(value), 4);
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return text(field, value.bytes_); }
  /// A packed list.
  Message& reals(uint32_t field, const std::vector<double>& values) {
    Message packed;
    for (const double value : values) packed.fixed(std::bit_cast<uint64_t>(value), 8);
    return message(field, packed);
  }

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void tag(uint32_t field, uint32_t wire_type) { varint(field << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void fixed(uint64_t bits, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  }

  std::string bytes_;
};

}  // namespace kusari::training::tensorboard
