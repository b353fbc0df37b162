// The loops that transpose, in each instruction set. Linked to the objects themselves: the library hides them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kusari/framework/cpu/isa/transpose.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari::cpu;

namespace {

/// Bytes that differ from their neighbours.
std::vector<char> noise_bytes(int64_t n) {
  std::vector<char> result(static_cast<size_t>(n));
  uint32_t state = 1;
  for (char& byte : result) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return result;
}

struct TransposeCase {
  int64_t rows, columns, size;
  int64_t from_gap, to_gap;  // elements
  bool backward;
};

/// Also that nothing is written between the rows.
void check_transpose(TransposeLoop transpose, const TransposeCase& c) {
  CAPTURE(c.rows);
  CAPTURE(c.columns);
  CAPTURE(c.size);
  CAPTURE(c.backward);
  const int64_t from_stride = (c.rows + c.from_gap) * c.size, to_stride = (c.columns + c.to_gap) * c.size;
  const std::vector<char> from = noise_bytes(from_stride * c.columns);
  std::vector<char> got(static_cast<size_t>(to_stride * c.rows), 'x'), want = got;
  for (int64_t a = 0; a < c.rows; ++a) {
    for (int64_t b = 0; b < c.columns; ++b) {
      const int64_t source = c.backward ? c.columns - 1 - b : b, target = c.backward ? c.rows - 1 - a : a;
      std::memcpy(want.data() + target * to_stride + b * c.size, from.data() + source * from_stride + a * c.size,
                  static_cast<size_t>(c.size));
    }
  }
  if (c.backward) {
    transpose(from.data() + (c.columns - 1) * from_stride, -from_stride, got.data() + (c.rows - 1) * to_stride,
              -to_stride, c.rows, c.columns);
  } else {
    transpose(from.data(), from_stride, got.data(), to_stride, c.rows, c.columns);
  }
  CHECK(std::equal(got.begin(), got.end(), want.begin()));
}

void check_transposes(const TransposeLoops& loops) {
  constexpr int64_t kSides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 63, 64, 65, 100, 130};
  for (int log_size = 0; log_size < 4; ++log_size) {
    for (const int64_t rows : kSides) {
      for (const int64_t columns : kSides) {
        check_transpose(loops.loop[log_size], {rows, columns, 1 << log_size, rows % 3, columns % 2, false});
        check_transpose(loops.loop[log_size], {rows, columns, 1 << log_size, rows % 2, columns % 3, true});
      }
    }
  }
}

}  // namespace

TEST_CASE("isa: rectangles of any size are transposed") { check_transposes(*v1::transpose_loops()); }
TEST_CASE("isa: rectangles of any size are transposed with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_transposes(*v3::transpose_loops());
}
TEST_CASE("isa: rectangles of any size are transposed with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_transposes(*v4::transpose_loops());
}

#endif
