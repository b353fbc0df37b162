#include "kusari/framework/tokenizers/bpe.h"

#include <array>
#include <cstdio>
#include <queue>

#include "kusari/framework/core/utf8.h"

namespace kusari::tokenizers {
namespace {

/// "<0xE2>".
std::array<char, 7> byte_token(unsigned char byte) {
  std::array<char, 7> text{};
  std::snprintf(text.data(), text.size(), "<0x%02X>", static_cast<unsigned>(byte));
  return text;
}

}  // namespace

std::vector<int32_t> Bpe::characters(std::string_view piece) const {
  std::vector<int32_t> result;
  bool last_is_unknown = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t size = utf8_character_size(piece, at);
    const std::string_view character = piece.substr(at, size);
    at += size;
    if (const auto found = ids.find(character); found != ids.end()) {
      result.push_back(found->second);
      last_is_unknown = false;
      continue;
    }
    if (has_bytes) {
      std::vector<int32_t> bytes;
      for (const char c : character) {
        const auto found = ids.find(std::string_view(byte_token(static_cast<unsigned char>(c)).data(), 6));
        if (found != ids.end()) bytes.push_back(found->second);
      }
      if (bytes.size() == size) {
        result.insert(result.end(), bytes.begin(), bytes.end());
        last_is_unknown = false;
        continue;
      }
    }
    if (!unknown) continue;
    if (!last_is_unknown || !fuses_unknown) result.push_back(*unknown);
    last_is_unknown = true;
  }
  return result;
}

void Bpe::encode(std::string_view piece, std::vector<int32_t>* out) const {
  if (ignores_merges) {
    if (const auto found = ids.find(piece); found != ids.end()) return out->push_back(found->second);
  }
  // A list of symbols, from which joined ones vanish. Candidates are taken by rank, then from the left; those whose
  // symbols have changed since are passed over.
  std::vector<int32_t> symbols = characters(piece);
  const auto count = static_cast<int32_t>(symbols.size());
  constexpr int32_t kGone = -1;
  std::vector<int32_t> before(symbols.size()), behind(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    before[static_cast<size_t>(i)] = i - 1;
    behind[static_cast<size_t>(i)] = i + 1 < count ? i + 1 : kGone;
  }
  struct Candidate {
    int32_t rank, at;
    uint64_t pair;
    int32_t joined;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto pair_at = [&](int32_t i) {
    return key(symbols[static_cast<size_t>(i)], symbols[static_cast<size_t>(behind[static_cast<size_t>(i)])]);
  };
  const auto consider = [&](int32_t i) {
    if (i == kGone || behind[static_cast<size_t>(i)] == kGone) return;
    const uint64_t pair = pair_at(i);
    if (const auto found = merges_.find(pair); found != merges_.end()) {
      candidates.push({found->second.rank, i, pair, found->second.joined});
    }
  };
  for (int32_t i = 0; i + 1 < count; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const auto i = static_cast<size_t>(best.at);
    if (symbols[i] == kGone || behind[i] == kGone || pair_at(best.at) != best.pair) continue;
    const auto joined = static_cast<size_t>(behind[i]);
    symbols[i] = best.joined;
    symbols[joined] = kGone;
    behind[i] = behind[joined];
    if (behind[i] != kGone) before[static_cast<size_t>(behind[i])] = best.at;
    consider(before[i]);
    consider(best.at);
  }
  for (const int32_t symbol : symbols) {
    if (symbol != kGone) out->push_back(symbol);
  }
}

}  // namespace kusari::tokenizers
