#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kusari::tokenizers {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Tokens and the order in which neighbours are joined.
class Bpe {
 public:
  TextMap<int32_t> ids;
  std::vector<std::string> tokens;  ///< by id; "" where there is none
  bool ignores_merges = false;      ///< a piece that is a token is taken whole
  bool has_bytes = false;           ///< characters that are no token become "<0xE2>" and so on
  std::optional<int32_t> unknown;   ///< for other such characters; without it they are left out
  bool fuses_unknown = false;       ///< neighbours that are unknown are one

  /// The pair (a, b) becomes `joined`, before those that are added later.
  void add_merge(int32_t a, int32_t b, int32_t joined) {
    merges_.emplace(key(a, b), Merge{static_cast<int32_t>(merges_.size()), joined});
  }
  /// Adds the ids of a piece, UTF-8.
  void encode(std::string_view piece, std::vector<int32_t>* out) const;

 private:
  struct Merge {
    int32_t rank, joined;
  };
  static uint64_t key(int32_t a, int32_t b) noexcept {
    return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
  }
  std::vector<int32_t> characters(std::string_view piece) const;

  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace kusari::tokenizers
