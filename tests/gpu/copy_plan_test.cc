#include "kusari/cuda/plans/copy_plan.h"

#include <algorithm>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "unbacked_array.h"

namespace kusari::cuda {
namespace {

using testing::unbacked_array;

StridedRange<2> range_of(const Array& x, const Array& y) {
  const Array* const operands[] = {&y, &x};
  return StridedRange<2>(StridedLoop(operands));
}

int axis_of(const Array& x, const Array& y) {
  return transposed_axis(range_of(x, y), itemsize(y.dtype()), itemsize(x.dtype()));
}

TEST_CASE("copy plan: transpositions are those of two long axes") {
  CHECK(axis_of(unbacked_array({64, 32}, {1, 64}), unbacked_array({64, 32})) == 0);
  CHECK(axis_of(unbacked_array({64, 32}, {1, 64}, Dtype::float64), unbacked_array({64, 32})) == 0);
  CHECK(axis_of(unbacked_array({64, 32}, {1, 66}), unbacked_array({64, 32}, {33, 1})) == 0);
  CHECK(axis_of(unbacked_array({64, 15}, {1, 64}), unbacked_array({64, 15})) == -1);
  CHECK(axis_of(unbacked_array({15, 64}, {1, 15}), unbacked_array({15, 64})) == -1);
  CHECK(axis_of(unbacked_array({64, 32}), unbacked_array({64, 32})) == -1);
  CHECK(axis_of(unbacked_array({64, 32}, {1, 0}), unbacked_array({64, 32})) == -1);
  // Images to channels-last and back.
  const Shape images = {2, 24, 7, 9};
  const Array planar = unbacked_array(images), packed = unbacked_array(images, channels_last_strides(images));
  CHECK(axis_of(planar, packed) >= 0);
  CHECK(axis_of(packed, planar) >= 0);
}

TEST_CASE("copy plan: tiles cover every element once") {
  struct Case {
    Array x, y;
  };
  const Shape images = {2, 24, 7, 9}, pair = {3, 33, 65};
  const Case cases[] = {{unbacked_array({64, 32}, {1, 64}), unbacked_array({64, 32})},
                        {unbacked_array({31, 97}, {1, 40}), unbacked_array({31, 97}, {100, 1})},
                        {unbacked_array(images), unbacked_array(images, channels_last_strides(images))},
                        {unbacked_array(images, channels_last_strides(images)), unbacked_array(images)},
                        {unbacked_array(pair, {33 * 65, 1, 33}), unbacked_array(pair)},
                        {unbacked_array({16, 5, 16}, {1, 256, 16}), unbacked_array({16, 5, 16})}};
  for (const Case& c : cases) {
    for (const int side : {32, 64}) {
      const StridedRange<2> range = range_of(c.x, c.y);
      const int axis = axis_of(c.x, c.y);
      REQUIRE(axis >= 0);
      const Transposition t = transposition_of(range, {}, axis, side);
      std::map<int64_t, std::vector<int64_t>> copied;  // bytes into y: bytes into x
      for (int64_t block = 0; block < tiles_of(t, range); ++block) {
        const Tile tile = tile_of(t, static_cast<uint32_t>(block), side);
        CHECK((tile.row < t.rows && tile.column < t.columns));
        for (int row = tile.row; row < std::min(tile.row + side, t.rows); ++row) {
          for (int column = tile.column; column < std::min(tile.column + side, t.columns); ++column) {
            copied[tile.to + int64_t{row} * t.to_stride + column * 4].push_back(tile.from + row * 4 +
                                                                                int64_t{column} * t.from_stride);
          }
        }
      }
      int64_t wrong = 0;
      testing::for_each_index(c.x.shape(), [&](const int64_t* index) {
        int64_t from = 0, to = 0;
        for (int i = 0; i < c.x.ndim(); ++i) {
          from += index[i] * c.x.strides()[i] * 4;
          to += index[i] * c.y.strides()[i] * 4;
        }
        wrong += copied[to] == std::vector<int64_t>{from} ? 0 : 1;
      });
      CHECK(wrong == 0);
      CHECK(static_cast<int64_t>(copied.size()) == c.x.size());
    }
  }
}

TEST_CASE("copy plan: the widest word of neighbours") {
  const auto word = [](const Array& x, const Array& y) { return word_of(range_of(x, y), itemsize(x.dtype())); };
  const Array y = unbacked_array({10, 24}, {25, 1});
  CHECK(word(unbacked_array({10, 24}, {28, 1}), unbacked_array({10, 24}, {32, 1})) == 16);
  CHECK(word(unbacked_array({10, 24}, {26, 1}), unbacked_array({10, 24}, {32, 1})) == 8);
  CHECK(word(unbacked_array({10, 24}, {28, 1}), y) == 4);
  CHECK(word(unbacked_array({10, 24}, {28, 1}, Dtype::float32, 0x100008), unbacked_array({10, 24}, {32, 1})) == 8);
  CHECK(word(unbacked_array({10, 22}, {28, 1}), unbacked_array({10, 22}, {32, 1})) == 8);
  CHECK(word(unbacked_array({10, 24}, {48, 2}), y) == 4);
  CHECK(word(unbacked_array({10, 24}, {25, 1}, Dtype::int8), unbacked_array({10, 24}, {26, 1}, Dtype::int8)) == 1);
}

TEST_CASE("copy plan: pairs of halves are aligned in both arrays") {
  const auto pairs = [](const Shape& shape, int64_t x_step, int64_t y_step, uintptr_t address = 0x100000) {
    const Array x = unbacked_array(shape, {1, x_step}, Dtype::float16, address);
    const Array y = unbacked_array(shape, {y_step, 1}, Dtype::float16);
    return has_pairs(range_of(x, y), 0, 2);
  };
  CHECK(pairs({64, 32}, 64, 32));
  CHECK_FALSE(pairs({63, 32}, 64, 32));
  CHECK_FALSE(pairs({64, 31}, 64, 32));
  CHECK_FALSE(pairs({64, 32}, 65, 32));
  CHECK_FALSE(pairs({64, 32}, 64, 33));
  CHECK_FALSE(pairs({64, 32}, 64, 32, 0x100002));
  // Views that overlap: matrices of x begin at every element.
  const Array x = unbacked_array({32, 16, 32}, {1, 1, 64}, Dtype::float16);
  CHECK_FALSE(has_pairs(range_of(x, unbacked_array({32, 16, 32}, Dtype::float16)), 0, 2));
}

}  // namespace
}  // namespace kusari::cuda
