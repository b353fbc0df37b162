#include "kusari/tools/inspect/printable.h"

#include <cstdint>
#include <cstdio>

namespace inspect {
namespace {

/// The code point at the beginning, and its bytes: 0 where there is none.
struct Decoded {
  uint32_t point;
  size_t size;
};

Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || size > text.size()) return {0, 0};
  uint32_t point = size == 1 ? lead : lead & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kLeast[size] || point > 0x10FFFF || is_surrogate ? Decoded{0, 0} : Decoded{point, size};
}

bool is_harmful(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) ||         // C0, DEL, C1
         point == 0x061C || (point >= 0x200B && point <= 0x200F) ||  // marks and zero widths
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

std::string escaped(std::string_view text, bool is_json) {
  std::string result;
  while (!text.empty()) {
    const auto [point, size] = decode(text);
    char escape[16];
    if (size == 0) {
      std::snprintf(escape, sizeof escape, is_json ? "\\ufffd" : "\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (!is_harmful(point) || (is_json && point == '\n')) {
      result += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    } else {
      std::snprintf(escape, sizeof escape, point < 0x80 && !is_json ? "\\x%02x" : "\\u%04x",
                    static_cast<unsigned>(point));
    }
    result += escape;
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }
std::string printable_json(std::string_view json) { return escaped(json, true); }

}  // namespace inspect
