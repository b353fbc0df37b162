#include "kusari/framework/functions/array/get_item.h"

#include <limits>

#include "kusari/framework/functions/array/scatter_add.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

// 0, 1, 2, ... as float64.
Array count(const Shape& shape) { return arange(numel(shape), Dtype::float64).reshape(shape); }

TEST_CASE("get_item with numbers and slices") {
  const Array x = count({3, 4});
  check_close(F::get_item(x, 1), {4}, {4, 5, 6, 7});
  check_close(F::get_item(x, -1), {4}, {8, 9, 10, 11});
  check_close(F::get_item(x, {2, -2}), {}, {10});
  check_close(F::get_item(x, {Slice{1, 3}, 0}), {2}, {4, 8});
  check_close(F::get_item(x, {Slice{}, Slice{{}, {}, 2}}), {3, 2}, {0, 2, 4, 6, 8, 10});
  check_close(F::get_item(x, {Slice{{}, {}, -1}, Slice{3, 0, -2}}), {3, 2}, {11, 9, 7, 5, 3, 1});
  check_close(F::get_item(x, {Slice{-2, {}}, Slice{{}, -3}}), {2, 1}, {4, 8});
  check_close(F::get_item(x, Slice{1, 100}), {2, 4}, {4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(F::get_item(x, Slice{2, 1}).shape() == Shape{0, 4});
  CHECK(F::get_item(x, {Slice{}, Slice{5, 9}}).shape() == Shape{3, 0});
  CHECK(F::get_item(x, Slice{1, 3}).array().raw_data() == x.data<double>() + 4);
}

TEST_CASE("get_item with new axes and an ellipsis") {
  const Array x = count({2, 3, 2});
  CHECK(F::get_item(x, {kNewAxis, kEllipsis, kNewAxis}).shape() == Shape{1, 2, 3, 2, 1});
  check_close(F::get_item(x, {kEllipsis, 1}), {2, 3}, {1, 3, 5, 7, 9, 11});
  check_close(F::get_item(x, {0, kEllipsis, 1}), {3}, {1, 3, 5});
  check_close(F::get_item(x, {1, kNewAxis, 2}), {1, 2}, {10, 11});
  CHECK(F::get_item(x, {0, 0, kEllipsis, 0}).shape() == Shape{});
  CHECK(F::get_item(x, std::initializer_list<Index>{}).shape() == Shape{2, 3, 2});
}

// Source of the shapes and values: NumPy's x[...] with the same indices.
TEST_CASE("get_item with arrays") {
  const Array x = count({2, 3, 4});
  const Array rows = array<int32_t>({1, -2, 1}), columns = array<int64_t>({0, 2}, {2, 1});
  check_close(F::get_item(x, {rows, 0, 0}), {3}, {12, 0, 12});
  CHECK(F::get_item(x, rows).shape() == Shape{3, 3, 4});
  check_close(F::get_item(x, {0, array<int64_t>({2, 0}), Slice{1, 3}}), {2, 2}, {9, 10, 1, 2});
  check_close(F::get_item(x, {Slice{}, Slice{0, 1}, array<int64_t>({3, 0})}), {2, 1, 2}, {3, 0, 15, 12});
  CHECK(F::get_item(x, {Slice{}, rows, Slice{}}).shape() == Shape{2, 3, 4});
  CHECK(F::get_item(x, {Slice{}, columns, rows}).shape() == Shape{2, 2, 3});
  check_close(F::get_item(x, {1, columns, array<int64_t>({3, 1})}), {2, 2}, {15, 13, 23, 21});
  // Arrays that others stand between: their axes come first.
  CHECK(F::get_item(x, {array<int64_t>({0, 1, 0}), Slice{}, rows}).shape() == Shape{3, 3});
  CHECK(F::get_item(x, {0, Slice{}, array<int64_t>({3, 1})}).shape() == Shape{2, 3});
  check_close(F::get_item(x, {0, Slice{}, array<int64_t>({3, 1})}), {2, 3}, {3, 7, 11, 1, 5, 9});
  CHECK(F::get_item(x, array<int64_t>(std::vector<int64_t>{})).shape() == Shape{0, 3, 4});
}

TEST_CASE("get_item with bools") {
  const Array x = count({2, 3});
  check_close(F::get_item(x, array<bool>({true, false, false, false, true, true}, {2, 3})), {3}, {0, 4, 5});
  check_close(F::get_item(x, {Slice{}, array<bool>({true, false, true})}), {2, 2}, {0, 2, 3, 5});
  CHECK(F::get_item(x, zeros({2}, Dtype::bool_)).shape() == Shape{0, 3});
}

TEST_CASE("get_item with the farthest steps") {
  const Array x = count({3});
  const int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  check_close(F::get_item(x, Slice{{}, {}, most}), {1}, {0});
  check_close(F::get_item(x, Slice{{}, {}, least}), {1}, {2});
  check_close(F::get_item(x, Slice{least, most, most}), {1}, {0});
  CHECK(F::get_item(zeros({0}), Slice{{}, {}, least}).shape() == Shape{0});
}

TEST_CASE("get_item's gradients") {
  const Array x = uniform({3, 4, 2}, -1, 1), twice = array<int64_t>({1, 1, 0}), other = array<int64_t>({0, 0, 3});
  check_gradients([](const Variable& v) { return F::get_item(v, {1, Slice{3, 0, -2}}); }, x);
  check_gradients([](const Variable& v) { return F::get_item(v, {kNewAxis, Slice{{}, {}, -1}, kEllipsis, 0}); }, x);
  check_gradients([](const Variable& v) { return F::get_item(v, {Slice{2, 1}}); }, x);
  check_gradients([&](const Variable& v) { return F::get_item(v, twice); }, x);
  check_gradients([&](const Variable& v) { return F::get_item(v, {twice, other}); }, x);
  check_gradients([&](const Variable& v) { return F::get_item(v, {Slice{0, 2}, other, twice}); }, x);
  check_gradients([&](const Variable& v) { return F::get_item(v, {0, Slice{}, twice}); }, x);
}

TEST_CASE("gradients of elements taken twice add up, in float32 for half types") {
  const Variable x(zeros({2}, Dtype::float16));
  const Variable y = F::get_item(x, zeros({4096}, Dtype::int64));
  CHECK(gradient(y, x) == std::vector<double>{4096, 0});
}

TEST_CASE("get_item with wrong indices") {
  const Array x = count({2, 3});
  CHECK_THROWS_WITH_AS(F::get_item(x, {0, 0, 0}), "F::get_item: x has shape (2, 3) but there are indices for 3 axes",
                       IndexError);
  CHECK_THROWS_WITH_AS(F::get_item(x, {0, 3}), "F::get_item: index 3 is out of range for axis 1 of shape (2, 3)",
                       IndexError);
  CHECK_THROWS_WITH_AS(F::get_item(x, array<int64_t>({0, -3})),
                       "F::get_item: index -3 is out of range for an axis of size 2", IndexError);
  CHECK_THROWS_WITH_AS(F::get_item(x, {array<int64_t>({0, 1}), array<int64_t>({0, 3})}),
                       "F::get_item: index 3 is out of range for an axis of size 3", IndexError);
  CHECK_THROWS_WITH_AS(F::get_item(x, Slice{0, 1, 0}), "F::get_item: the step of a slice must not be 0", ValueError);
  CHECK_THROWS_WITH_AS(F::get_item(x, {kEllipsis, kEllipsis}), "F::get_item: an index can have only one ellipsis",
                       IndexError);
  CHECK_THROWS_WITH_AS(F::get_item(x, ones({2})),
                       "F::get_item: an index array has dtype float32 but must hold integers or bools", TypeError);
  CHECK_THROWS_AS(F::get_item(x, zeros({3}, Dtype::bool_)), IndexError);
  CHECK_THROWS_AS(F::get_item(x, {array<int64_t>({0, 1}), array<int64_t>({0, 1, 2})}), TypeError);
}

TEST_CASE("scatter_add") {
  const Array a = count({3, 2}), twice = array<int64_t>({1, 1});
  check_close(F::scatter_add(a, {1}, array<double>({10, 20})), {3, 2}, {0, 1, 12, 23, 4, 5});
  check_close(F::scatter_add(a, {twice}, array<double>({10, 20, 30, 40}, {2, 2})), {3, 2}, {0, 1, 42, 63, 4, 5});
  check_close(F::scatter_add(a, {twice, Slice{}}, ones({}, Dtype::float64)), {3, 2}, {0, 1, 4, 5, 4, 5});
  check_close(F::scatter_add(a, {Slice{}, array<int64_t>({1, 1})}, ones({3, 2}, Dtype::float64)), {3, 2},
              {0, 3, 2, 5, 4, 7});
  check_close(a, {3, 2}, {0, 1, 2, 3, 4, 5});
  check_gradients(
      [&](const Variable& x, const Variable& b) {
        return F::scatter_add(x, {twice, 0}, b);
      },
      uniform({3, 2}, -1, 1, 1), uniform({2}, -1, 1, 2));
  CHECK_THROWS_AS(F::scatter_add(a, {1}, ones({3}, Dtype::float64)), TypeError);
  CHECK_THROWS_AS(F::scatter_add(a, {1}, ones({2})), TypeError);
  CHECK_THROWS_WITH_AS(F::scatter_add(a, {3}, ones({2}, Dtype::float64)),
                       "F::scatter_add: index 3 is out of range for axis 0 of shape (3, 2)", IndexError);
}

}  // namespace
}  // namespace kusari
