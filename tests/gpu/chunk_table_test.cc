#include "kusari/cuda/plans/chunk_table.h"

#include <vector>

#include <doctest/doctest.h>

namespace kusari::cuda {
namespace {

TEST_CASE("chunk table: every element of every tensor is in one chunk") {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1}, {kChunk}, {kChunk + 1}, {0, 0, 5, 0, 3 * kChunk, 0}, {2 * kChunk - 1, 7, kChunk}}) {
    ChunkTable<2> table;
    for (size_t i = 0; i < sizes.size(); ++i) {
      CHECK(table.add(static_cast<uint32_t>(10 + i), sizes[i]) == static_cast<int>(i));
    }
    std::vector<int64_t> seen(sizes.size());
    for (uint32_t number = 0; number < table.chunks(); ++number) {
      const Chunk chunk = find_chunk(table, number);
      const auto tensor = static_cast<size_t>(chunk.tensor);
      CHECK(chunk.begin == seen[tensor]);
      CHECK(chunk.count > 0);
      CHECK(chunk.count <= kChunk);
      CHECK(table.index[tensor] == 10 + tensor);
      seen[tensor] += chunk.count;
    }
    CHECK(seen == sizes);
  }
}

TEST_CASE("chunk table: sizes beyond 2^31 and full tables") {
  ChunkTable<3> table;
  const int64_t large = (int64_t{1} << 36) + 5;
  table.add(0, 3);
  table.add(1, large);
  const Chunk last = find_chunk(table, table.chunks() - 1);
  CHECK(last.tensor == 1);
  CHECK(last.begin == large - 5);
  CHECK(last.count == 5);
  while (!table.is_full()) table.add(2, 1);
  CHECK(table.count == ChunkTable<3>::kCapacity);
  CHECK(table.count > 90);
  CHECK(sizeof(table) <= kTableBytes);
  CHECK(find_chunk(table, table.chunks() - 1).tensor == table.count - 1);
}

TEST_CASE("chunk table: empty") {
  ChunkTable<1> table;
  CHECK(table.chunks() == 0);
  table.add(0, 0);
  CHECK(table.chunks() == 0);
}

}  // namespace
}  // namespace kusari::cuda
