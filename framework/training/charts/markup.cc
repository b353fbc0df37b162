#include "kusari/framework/training/charts/markup.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kusari/framework/core/number_text.h"

namespace kusari::training::charts {
namespace {

/// Bytes of the UTF-8 character that `text` begins with; 0 when it begins with none (RFC 3629, section 4).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (first < 0xC2 || length == 0) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
  return is_too_long || is_surrogate || (first == 0xF4 && byte(1) >= 0x90) ? 0 : length;
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr const char* kReplacement = "\xEF\xBF\xBD";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      result += kReplacement;
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string coordinate(double value) {
  std::string result = fixed_text(value, 2);
  while (result.back() == '0') result.pop_back();
  if (result.back() == '.') result.pop_back();
  return result == "-0" ? "0" : result;
}

}  // namespace kusari::training::charts
