#pragma once

#include <algorithm>
#include <cstdint>

// How attention's scores are cut into parts that fit into a card's cache: plain host code.
namespace kusari::cuda {

/// Some queries of some groups of heads of some sequences.
struct AttentionPart {
  int64_t first_batch = 0, batch = 0;
  int64_t first_group = 0, groups = 0;
  int64_t first_head = 0, heads = 0;  ///< of the groups: share for each
  int64_t first_query = 0, queries = 0;
  int64_t first_key = 0;  ///< that one of them sees
};

struct AttentionSizes {
  int64_t batch, groups, share;  ///< share: heads of a group
  int64_t queries, keys;
  int64_t itemsize;  ///< bytes of a score
  bool is_causal;
  int64_t window = 0;  ///< keys that a causal query sees at most; 0: all
};

/// Bytes of the scores of a part.
inline constexpr int64_t kAttentionPartBytes = int64_t{32} << 20;
/// Queries of a causal part, which leaves out the keys that none of them sees.
inline constexpr int64_t kCausalQueries = 512;

/// Calls body(part, columns) for parts that cover everything: columns, how many keys from part.first_key on a query of
/// the part may see.
template <class Body>
void for_attention_parts(const AttentionSizes& s, const Body& body, int64_t most_bytes = kAttentionPartBytes) {
  const bool has_window = s.window > 0 && s.window < s.keys - kCausalQueries;
  const int64_t most_columns = has_window ? s.window + kCausalQueries : s.keys;
  const int64_t row = std::max<int64_t>(most_columns * s.itemsize, 1);
  const int64_t row_of_group = row * s.share;
  int64_t queries = std::clamp<int64_t>(most_bytes / row_of_group, 1, s.queries);
  if (s.is_causal) queries = std::min(queries, kCausalQueries);
  const int64_t groups = std::clamp<int64_t>(most_bytes / (row_of_group * queries), 1, s.groups);
  const int64_t batch = std::clamp<int64_t>(most_bytes / (row_of_group * queries * groups), 1, s.batch);
  for (int64_t b = 0; b < s.batch; b += batch) {
    for (int64_t g = 0; g < s.groups; g += groups) {
      for (int64_t i = 0; i < s.queries; i += queries) {
        AttentionPart part;
        part.first_batch = b;
        part.batch = std::min(batch, s.batch - b);
        part.first_group = g;
        part.groups = std::min(groups, s.groups - g);
        part.first_head = g * s.share;
        part.heads = part.groups * s.share;
        part.first_query = i;
        part.queries = std::min(queries, s.queries - i);
        const int64_t place = s.keys - s.queries + i;  // of the first query, among the keys
        if (s.window > 0 && place >= s.window) part.first_key = place + 1 - s.window;
        const int64_t end = s.is_causal ? std::clamp<int64_t>(place + part.queries, 0, s.keys) : s.keys;
        body(part, end - part.first_key);
      }
    }
  }
}

}  // namespace kusari::cuda
