#include "kusari/framework/serializers/safetensors_checksums.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/crc32.h"

namespace kusari::serializers {
namespace {

constexpr size_t kDigits = 8;

std::string hexadecimal(uint32_t value) {
  char text[kDigits + 1];
  std::snprintf(text, sizeof(text), "%08x", static_cast<unsigned>(value));
  return text;
}

std::optional<uint32_t> from_hexadecimal(std::string_view text) {
  uint32_t value = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
    if (!is_digit && !is_letter) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace

std::string checksums_placeholder(size_t count) { return checksums_text(std::vector<uint32_t>(count)); }

std::string checksums_text(const std::vector<uint32_t>& checksums) {
  std::string text;
  for (const uint32_t checksum : checksums) text += (text.empty() ? "" : " ") + hexadecimal(checksum);
  return text;
}

uint32_t checksum_of(const SafetensorsHeader& header) {
  std::string all;
  // Lengths before texts: no two headers give the same bytes.
  const auto add = [&](const std::string& text) { all += std::to_string(text.size()) + ":" + text; };
  for (const auto& [key, text] : header.metadata) {
    if (key == kHeaderChecksum) continue;
    add(key);
    add(text);
  }
  all += ';';
  for (const SafetensorsEntry& entry : header.entries) {
    add(entry.key);
    add(entry.dtype);
    for (const int64_t n : entry.shape) all += std::to_string(n) + ",";
    all += std::to_string(entry.begin) + "-" + std::to_string(entry.end) + ";";
  }
  return crc32_of(all.data(), all.size());
}

std::optional<std::vector<uint32_t>> read_checksums(const SafetensorsHeader& header, const std::string& place) {
  const auto own = header.metadata.find(kHeaderChecksum), tensors = header.metadata.find(kTensorChecksums);
  const auto none = header.metadata.end();
  if (own == none && tensors == none) return std::nullopt;
  if (own == none || tensors == none) {
    throw IoError(place + "the header is damaged: of the checksums " + kHeaderChecksum + " and " + kTensorChecksums +
                  " it has only one");
  }
  if (own->second != hexadecimal(checksum_of(header))) {
    throw IoError(place + "the header is damaged: its checksum " + kHeaderChecksum +
                  " does not match (a program that changes tensors must leave the checksums out)");
  }
  const std::string& text = tensors->second;
  const size_t count = header.entries.size();
  std::vector<uint32_t> checksums;
  bool is_whole = text.size() == (count == 0 ? 0 : count * (kDigits + 1) - 1);
  for (size_t i = 0; is_whole && i < count; ++i) {
    const size_t at = i * (kDigits + 1);
    const std::optional<uint32_t> value = from_hexadecimal(std::string_view(text).substr(at, kDigits));
    is_whole = value.has_value() && (i == 0 || text[at - 1] == ' ');
    checksums.push_back(value.value_or(0));
  }
  if (!is_whole) throw IoError(place + "the header has other " + kTensorChecksums + " than one for each tensor");
  return checksums;
}

}  // namespace kusari::serializers
