#include "kusari/cuda/libraries/im2col_chunk.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <doctest/doctest.h>

namespace kusari::cuda {
namespace {

TEST_CASE("im2col chunk: whole multiples within the workspace") {
  const size_t workspace = size_t{8} << 20;
  for (const int64_t rows : {int64_t{1}, int64_t{127}, int64_t{128}, int64_t{100003}, (int64_t{1} << 33) + 1}) {
    for (const int64_t row_bytes : {2, 18, 1152, 9216, 65536, 1 << 20}) {
      CAPTURE(rows);
      CAPTURE(row_bytes);
      const int64_t chunk = rows_of_chunk(rows, row_bytes, workspace);
      CHECK(chunk >= 1);
      CHECK(chunk <= rows);
      CHECK(chunk <= int64_t{1} << 30);
      CHECK((chunk == rows || chunk % 128 == 0));
      CHECK((chunk <= 128 || chunk * row_bytes <= static_cast<int64_t>(workspace)));
      CHECK((chunk == rows || (chunk + 128) * row_bytes > static_cast<int64_t>(workspace)));
    }
  }
  CHECK(rows_of_chunk(1000, 1152, 0) == 128);
  CHECK(rows_of_chunk(int64_t{1} << 40, 2, ~size_t{0}) == int64_t{1} << 30);
}

}  // namespace
}  // namespace kusari::cuda
