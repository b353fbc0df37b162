#include "kusari/cuda/plans/axis_list.h"

#include <doctest/doctest.h>

#include <vector>

using namespace kusari::cuda;

TEST_CASE("axis list: offsets of every element, the last axis fastest") {
  AxisList<2> list;
  list.push_back(3, {100, 7});
  list.push_back(5, {10, 0});
  list.push_back(4, {-1, 1});
  CHECK(list.total == 60);
  int64_t offset[2];
  for (int64_t i = 0; i < list.total; ++i) {
    list.locate(i, offset);
    CHECK(offset[0] == i / 20 * 100 + i / 4 % 5 * 10 - i % 4);
    CHECK(offset[1] == i / 20 * 7 + i % 4);
  }
  list.locate(14, 2, offset);  // of the first two axes alone
  CHECK(offset[0] == 14 / 5 * 100 + 14 % 5 * 10);
}

TEST_CASE("axis list: offsets past 2^31 elements, on both sides of each step of an axis") {
  // Below 2^53 elements in all; 49 * (1 / 49.0) is below 1, and products near 2^53 round up to the next integer.
  for (const int64_t inner : {49, 5, 3, 1023}) {
    CAPTURE(inner);
    const int64_t columns = 2'999'999'929, rows = (int64_t{1} << 53) / (columns * inner) - 1;
    AxisList<1> list;
    for (const int64_t size : {rows, columns, inner}) list.push_back(size, {size});
    int64_t wrong = 0;
    for (int64_t row = 0; row < rows; row += rows / 499) {
      for (const int64_t column : {int64_t{0}, int64_t{1}, columns / 3 + row, columns - 1}) {
        for (const int64_t place : {int64_t{0}, inner - 1}) {
          int64_t offset[1];
          list.locate((row * columns + column) * inner + place, offset);
          if (offset[0] != row * rows + column * columns + place * inner) ++wrong;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("axis list: axes that are one range in every operand become one") {
  AxisList<2> list;
  list.merge_back(3, {20, 5});
  list.merge_back(4, {5, 0});
  CHECK(list.count == 2);
  list.merge_back(5, {1, 0});
  CHECK(list.count == 2);
  CHECK(list.size[1] == 20);
  CHECK(list.total == 60);
  AxisList<1> none;
  CHECK(none.total == 1);
  none.merge_back(0, {1});
  none.merge_back(3, {0});
  CHECK(none.total == 0);
}

TEST_CASE("axis list: more elements than 32 bits count") {
  AxisList<1> list;
  list.push_back(3, {int64_t{1} << 40});
  list.push_back(int64_t{1} << 33, {1});
  int64_t offset[1];
  list.locate((int64_t{2} << 33) + 12345, offset);
  CHECK(offset[0] == (int64_t{2} << 40) + 12345);
}

TEST_CASE("axis list: sorting keeps the order of equals") {
  struct Axis {
    int key, place;
  };
  std::vector<Axis> axes = {{1, 0}, {3, 1}, {1, 2}, {2, 3}, {3, 4}};
  sort_axes(axes.data(), static_cast<int>(axes.size()), [](const Axis& a, const Axis& b) { return a.key > b.key; });
  std::vector<int> places;
  for (const Axis& axis : axes) places.push_back(axis.place);
  CHECK(places == std::vector<int>{1, 4, 3, 0, 2});
}
