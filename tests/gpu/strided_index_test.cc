#include "kusari/cuda/kernels/strided_index.cuh"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"

using namespace kusari;
using namespace kusari::cuda;

namespace {

/// The byte offsets of all elements of a range, in its order, by counting.
template <int kOperands>
std::vector<int64_t> counted(const StridedRange<kOperands>& range, int operand) {
  std::vector<int64_t> offsets;
  const int64_t n = range.elements();
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = range.ndim - 1; axis >= 0; --axis) {
      offset += rest % range.size[axis] * range.stride[operand][axis];
      rest /= range.size[axis];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace

TEST_CASE("Divisor: quotients of numbers below 2^31") {
  const std::vector<int64_t> divisors = {1,  2,   3,   4,    5,     7,          9,          10,         31,
                                         32, 100, 641, 1000, 65537, 1073741823, 1073741824, 2147483646, 2147483647};
  for (const int64_t d : divisors) {
    CAPTURE(d);
    const Divisor divisor(d);
    CHECK(divisor.value() == d);
    uint64_t wrong = 0;
    const auto check = [&](int64_t n) {
      if (n < 0 || n > kNarrow) return;
      wrong += divisor.quotient(static_cast<uint32_t>(n)) != n / d ? 1 : 0;
    };
    for (int64_t n = 0; n < 2000; ++n) {
      check(n);
      check(kNarrow - n);
      for (const int64_t k : {int64_t{1}, n, kNarrow / d}) {
        check(k * d - 1);
        check(k * d);
        check(k * d + 1);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("StridedIndex: offsets of every operand") {
  const Array y = empty({3, 5, 7}), x = empty({7, 5, 3}, Dtype::float64).transpose(),
              bias = empty({5, 1}, Dtype::float16), back = empty({3, 5, 7}).slice(2, 6, 7, -1);
  const Array* const operands[] = {&y, &x, &bias, &back};
  const StridedRange<4> range{StridedLoop(operands)};
  REQUIRE(range.is_narrow());
  const StridedIndex<4> index = range.index();
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    const std::vector<int64_t> expected = counted(range, k);
    REQUIRE(expected.size() == 105);
    for (uint32_t i = 0; i + 2 < 105; ++i) {
      uint32_t number[3] = {i, i + 1, i + 2};
      int32_t offset[4][3];
      index.offsets(number, offset);
      for (uint32_t j = 0; j < 3; ++j) CHECK(offset[k][j] == expected[i + j]);
    }
  }
}

TEST_CASE("StridedRange: packs along the inner axis") {
  const Array y = empty({4, 6, 8}), bias = empty({8});
  const auto has = [](const Array& a, const Array& b, int64_t pack) {
    const Array* const operands[] = {&a, &b};
    return StridedRange<2>{StridedLoop(operands)}.has_packs(pack, {4, 4});
  };
  CHECK(has(y, bias, 4));
  CHECK(has(y, empty({1}), 4));                           // one element serves the pack
  CHECK(has(y, empty({4, 6, 1}), 4));                     // one for each row
  CHECK_FALSE(has(empty({4, 6, 6}), empty({6}), 4));      // a pack would cross the row's end
  CHECK_FALSE(has(y.slice(2, 1, 4), empty({4}), 4));      // starts off the boundary
  CHECK(has(y.slice(2, 4, 4), empty({4}), 4));            // starts on it
  CHECK_FALSE(has(y, empty({16}).slice(0, 0, 8, 2), 4));  // gaps
  const Array* const operands[] = {&y, &bias};
  StridedRange<2> range{StridedLoop(operands)};
  range.group(4);
  CHECK(range.elements() == 48);
  CHECK(range.stride[0][range.ndim - 1] == 16);
}

TEST_CASE("for_each_narrow: large ranges are cut into pieces that cover them") {
  // Five float64 operands' worth of address space is not allocated: the pieces are numbers alone.
  StridedRange<2> range;
  range.ndim = 3;
  const int64_t size[] = {6, 70000, 40000}, stride[] = {int64_t{70000} * 40000 * 8, int64_t{40000} * 8, 8};
  for (int axis = 0; axis < 3; ++axis) {
    range.size[axis] = size[axis];
    range.stride[0][axis] = stride[axis];
    range.stride[1][axis] = axis == 2 ? 0 : -stride[axis];
  }
  char* const origin = reinterpret_cast<char*>(intptr_t{1} << 46);  // where no array lies
  range.base[0] = range.base[1] = origin;
  CHECK_FALSE(range.is_narrow());
  int64_t elements = 0, pieces = 0, first_bytes = 0;
  for_each_narrow(range, [&](const StridedRange<2>& piece) {
    CHECK(piece.is_narrow());
    elements += piece.elements();
    // The sum of the offsets of all first elements, which a wrong base would change.
    first_bytes += (reinterpret_cast<intptr_t>(piece.base[0]) - (intptr_t{1} << 46)) / 8;
    CHECK(reinterpret_cast<intptr_t>(piece.base[1]) <= intptr_t{1} << 46);
    ++pieces;
  });
  CHECK(elements == range.elements());
  CHECK(pieces > 6);
  CHECK(first_bytes > 0);
  int64_t calls = 0;
  range.size[0] = 1;
  range.size[1] = 10;
  for_each_narrow(range, [&](const StridedRange<2>& piece) {
    CHECK(piece.elements() == 400000);
    ++calls;
  });
  CHECK(calls == 1);
}
