#include "kusari/cuda/plans/attention_parts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace kusari::cuda {
namespace {

TEST_CASE("attention parts: each query of each head once, within the limit, with all keys that it sees") {
  const int64_t most = 4096;
  for (const AttentionSizes& s : {AttentionSizes{3, 4, 2, 10, 20, 4, false},
                                  {1, 1, 1, 1, 1, 4, false},
                                  {2, 3, 1, 700, 700, 4, true},
                                  {5, 2, 4, 3, 7, 8, true},
                                  {2, 2, 2, 9, 5, 4, true},
                                  {2, 2, 2, 9, 5, 4, true, 2},
                                  {1, 2, 1, 700, 700, 4, true, 30},
                                  {1, 2, 1, 700, 5000, 4, true, 300},
                                  {1, 1, 1, 7, 9, 4, true, std::numeric_limits<int64_t>::max()},
                                  {2, 1, 8, 30, 5000, 4, false}}) {
    const int64_t heads = s.groups * s.share;
    std::vector<int> seen(static_cast<size_t>(s.batch * heads * s.queries), 0);
    for_attention_parts(
        s,
        [&](const AttentionPart& part, int64_t columns) {
          CHECK(part.first_head == part.first_group * s.share);
          CHECK(part.heads == part.groups * s.share);
          const int64_t most_columns = s.window > 0 ? columns : s.keys;
          const int64_t bytes = part.batch * part.heads * part.queries * most_columns * s.itemsize;
          const bool is_least = part.batch == 1 && part.groups == 1 && part.queries == 1;
          CHECK((is_least || bytes <= most));
          const int64_t place = s.keys - s.queries + part.first_query;
          const int64_t last = s.is_causal ? std::clamp<int64_t>(place + part.queries, 0, s.keys) : s.keys;
          CHECK(part.first_key + columns == last);
          CHECK(part.first_key == (s.window > 0 ? std::max<int64_t>(place - (s.window - 1), 0) : 0));
          for (int64_t b = part.first_batch; b < part.first_batch + part.batch; ++b) {
            for (int64_t h = part.first_head; h < part.first_head + part.heads; ++h) {
              for (int64_t i = part.first_query; i < part.first_query + part.queries; ++i) {
                ++seen[static_cast<size_t>((b * heads + h) * s.queries + i)];
              }
            }
          }
        },
        most);
    CHECK(seen == std::vector<int>(seen.size(), 1));
  }
}

TEST_CASE("attention parts: what fits is one part") {
  int count = 0;
  for_attention_parts({8, 16, 1, 128, 128, 4, false}, [&](const AttentionPart&, int64_t) { ++count; });
  CHECK(count == 1);
}

}  // namespace
}  // namespace kusari::cuda
