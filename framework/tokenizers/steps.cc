#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kusari/framework/core/utf8.h"
#include "kusari/framework/tokenizers/pattern.h"
#include "kusari/framework/tokenizers/state.h"

namespace kusari::tokenizers {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0;;) {
    const size_t found = text.find(from, at);
    result += text.substr(at, found - at);
    if (found == std::string_view::npos) return result;
    result += to;
    at = found + from.size();
  }
}

// GPT-2's: the printable characters of Latin-1 stand for themselves, other bytes for those from U+0100 on.
constexpr bool is_seen(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}
std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> result;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const int code = is_seen(byte) ? byte : next++;
    std::string& text = result[static_cast<size_t>(byte)];
    if (code >= 0x80) text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(code < 0x80 ? code : 0x80 | (code & 0x3f));
  }
  return result;
}
const std::array<std::string, 256>& characters_of_bytes() {
  static const std::array<std::string, 256> kCharacters = byte_characters();
  return kCharacters;
}

}  // namespace

Step prepend(std::string text, bool once) {
  return [text = std::move(text), once](std::vector<std::string>& pieces, bool) {
    for (std::string& piece : pieces) {
      if (!once || !piece.starts_with(text)) piece.insert(0, text);
    }
  };
}

Step replace(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::vector<std::string>& pieces, bool) {
    for (std::string& piece : pieces) piece = replaced(piece, from, to);
  };
}

Step split(const std::string& expression) {
  return [pattern = Pattern(expression)](std::vector<std::string>& pieces, bool) {
    std::vector<std::string> result;
    for (const std::string& piece : pieces) pattern.split(piece, &result);
    pieces = std::move(result);
  };
}

Step byte_level() {
  return [](std::vector<std::string>& pieces, bool) {
    for (std::string& piece : pieces) {
      std::string seen;
      for (const char c : piece) seen += characters_of_bytes()[static_cast<unsigned char>(c)];
      piece = std::move(seen);
    }
  };
}

Step mark_spaces(std::string mark, MarkWhere before, bool splits) {
  return [mark = std::move(mark), before, splits](std::vector<std::string>& pieces, bool is_first) {
    std::vector<std::string> result;
    for (size_t i = 0; i < pieces.size(); ++i) {
      std::string piece = replaced(pieces[i], " ", mark);
      const bool is_marked = before == MarkWhere::always || (before == MarkWhere::first && i == 0 && is_first);
      if (is_marked && !piece.starts_with(mark)) piece.insert(0, mark);
      if (!splits) {
        result.push_back(std::move(piece));
        continue;
      }
      for (size_t at = 0; at < piece.size();) {
        const size_t end = std::min(
            piece.find(mark, at + (piece.compare(at, mark.size(), mark) == 0 ? mark.size() : 0)), piece.size());
        result.push_back(piece.substr(at, end - at));
        at = end;
      }
    }
    pieces = std::move(result);
  };
}

std::string bytes_of_level(std::string_view token) {
  static const TextMap<char> kBytes = [] {
    TextMap<char> result;
    for (size_t byte = 0; byte < 256; ++byte) result.emplace(characters_of_bytes()[byte], static_cast<char>(byte));
    return result;
  }();
  std::string result;
  for (size_t at = 0; at < token.size();) {
    const size_t size = utf8_character_size(token, at);
    const auto found = kBytes.find(token.substr(at, size));
    if (size == 0 || found == kBytes.end()) return std::string(token);
    result += found->second;
    at += size;
  }
  return result;
}

}  // namespace kusari::tokenizers
