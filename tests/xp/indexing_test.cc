#include "kusari/framework/xp/indexing.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// Which elements of an array of the shape an index names, found with an array of their places.
std::vector<int64_t> places_of(const Shape& shape, std::span<const Index> slices) {
  return xp::get_item(arange(numel(shape), Dtype::int64, test_device()).reshape(shape), slices).to_vector<int64_t>();
}

}  // namespace

TEST_CASE("xp::at reads by NumPy's rules") {
  const Array x = arange(24, Dtype::int32, test_device()).reshape({2, 3, 4});
  check_equal(xp::at(x, 1, 2, 3), {}, {23});
  check_equal(xp::at(x, -1, kEllipsis, 0), {3}, {12, 16, 20});
  check_equal(xp::at(x, 0, Slice{{}, {}, -2}, Slice{1, 3}), {2, 2}, {9, 10, 1, 2});
  check_equal(xp::at(x, 0, 0, kNewAxis, Slice{2, {}}), {1, 2}, {2, 3});
  check_equal(xp::at(x, kEllipsis, array<int64_t>({3, -4})), {2, 3, 2}, {3, 0, 7, 4, 11, 8, 15, 12, 19, 16, 23, 20});
  check_equal(xp::at(x, array<int64_t>({0, 1}), array<int64_t>({2, 0})), {2, 4}, {8, 9, 10, 11, 12, 13, 14, 15});
  check_equal(xp::at(x, x > 20), {3}, {21, 22, 23});
  check_equal(xp::at(x, array<bool>({false, true})), {1, 3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  check_equal(xp::at(array(5)), {}, {5});
  Array y = xp::at(x, 0);  // a view
  y.fill(7);
  CHECK(numbers(x)[0] == 7);
  CHECK_THROWS_AS(xp::at(x, 2).array(), IndexError);
  CHECK_THROWS_AS(xp::at(x, 0, 0, 0, 0).array(), IndexError);
  CHECK_THROWS_AS(xp::at(x, Slice{{}, {}, 0}).array(), ValueError);
  CHECK_THROWS_AS(xp::at(x, array(0.5)).array(), TypeError);
  CHECK_THROWS_AS(xp::at(Array(), 0).array(), StateError);
}

TEST_CASE("xp::at writes where it reads") {
  const Shape shape = {3, 4, 5};
  const Array rows = array<int64_t>({2, 0, -1}), columns = array<int64_t>({1, 3, 0});
  const Array mask = integers(shape, 0, 1, 5, Dtype::bool_), first = integers({3}, 0, 1, 6, Dtype::bool_);
  const std::vector<std::vector<Index>> indices = {{0},
                                                   {Slice{1, {}}, -1},
                                                   {kEllipsis, Slice{{}, {}, 2}},
                                                   {kNewAxis, 1, kEllipsis},
                                                   {rows},
                                                   {rows, columns},
                                                   {rows, Slice{}, columns},
                                                   {Slice{}, columns.reshape({3, 1}), columns},
                                                   {mask},
                                                   {first, 2},
                                                   {Slice{2, 1}},
                                                   {kEllipsis}};
  for (const Dtype dtype : {Dtype::float32, Dtype::int64, Dtype::uint8, Dtype::float16}) {
    for (const bool transposed : {false, true}) {
      for (const std::vector<Index>& slices : indices) {
        const auto start = [&] {
          Array x = integers(shape, 0, 99, 1, dtype);
          return transposed ? x.transpose().contiguous().transpose() : x;
        };
        Array x = start();
        const std::vector<int64_t> places = places_of(shape, slices);
        const Array value = integers(xp::get_item(x, slices).shape(), 100, 199, 2, dtype);
        std::vector<double> expected = numbers(x);
        const std::vector<double> given = numbers(value);
        for (size_t i = 0; i < places.size(); ++i) expected[static_cast<size_t>(places[i])] = given[i];
        xp::set_item(x, slices, value);
        check_equal(x, shape, expected);
        for (const int64_t place : places) expected[static_cast<size_t>(place)] = 3;
        xp::set_item(x, slices, 3);
        check_equal(x, shape, expected);
      }
    }
  }
}

TEST_CASE("xp::at assigns in place, broadcasting and converting") {
  const Array x = zeros({2, 3}, Dtype::float32, test_device());
  xp::at(x, 0) = array<int64_t>({1, 2, 3}, test_device());
  xp::at(x, Slice{}, 1) += 10;
  xp::at(x, 1) *= 2;
  xp::at(x, kEllipsis, 2) -= array<float>({1, 1}, test_device());
  check_equal(x, {2, 3}, {1, 12, 2, 0, 20, -1});
  xp::at(x, x < 2) = 0.5;
  check_equal(x, {2, 3}, {0.5, 12, 2, 0.5, 20, 0.5});
  xp::at(x, 1) = xp::at(x, 0);
  check_equal(x.at(1), {3}, {0.5, 12, 2});
  CHECK_THROWS_AS(xp::at(x, 0) = zeros({2}, Dtype::float32, test_device()), TypeError);
  CHECK_THROWS_AS(xp::set_item(x, {0}, Array()), StateError);
  CHECK_THROWS_AS(xp::at(zeros({2}, Dtype::uint8), 0) = 256, ValueError);
  // The value may lie in the same memory.
  const Array line = arange(5, Dtype::float32, test_device());
  xp::at(line, Slice{1, {}}) = xp::at(line, Slice{{}, -1});
  check_equal(line, {5}, {0, 0, 1, 2, 3});
  CHECK_THROWS_AS(xp::at(line.at(0).expand_dims(0).broadcast_to({3}), Slice{1, {}}) = 1, ValueError);
  // Of several values for one element the last one stays.
  xp::at(x, 0, array<int64_t>({1, 1, 1})) = array<float>({4, 5, 6});
  CHECK(numbers(x)[1] == 6);
  xp::at(line, array<int64_t>({4, 3, 2, 1, 0})) = line;
  check_equal(line, {5}, {3, 2, 1, 0, 0});
}

TEST_CASE("xp::take, put, take_along_axis, nonzero and compress") {
  const Array x = arange(12, Dtype::float32, test_device()).reshape({3, 4});
  const Array i = array<int32_t>({1, -1, 0, 1}, {2, 2}, test_device());
  check_equal(xp::take(x, i), {2, 2}, {1, 11, 0, 1});
  check_equal(xp::take(x, i, 0), {2, 2, 4}, {4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7});
  check_equal(xp::take(x, i, 1), {3, 2, 2}, {1, 3, 0, 1, 5, 7, 4, 5, 9, 11, 8, 9});
  check_equal(xp::take_along_axis(x, array<int64_t>({0, 3, 1}, {3, 1}, test_device()), 1), {3, 1}, {0, 7, 9});
  CHECK_THROWS_AS(xp::take(x, x), TypeError);
  const Arrays places = xp::nonzero(x > 8);
  REQUIRE(places.size() == 2);
  check_equal(places[0], {3}, {2, 2, 2});
  check_equal(places[1], {3}, {1, 2, 3});
  check_equal(xp::argwhere(x == 5), {1, 2}, {1, 1});
  CHECK(xp::nonzero(array(1.0)).size() == 0);
  CHECK(xp::argwhere(array(1.0)).shape() == Shape{1, 0});
  check_equal(xp::compress(x < 2, x), {2}, {0, 1});
  CHECK_THROWS_AS(xp::compress(x, x), TypeError);
  const bool tells_at_once = test_device().is_cpu();  // an index that is out of range
  if (tells_at_once) CHECK_THROWS_AS(xp::take(x, array<int64_t>({12})), IndexError);
  xp::put(x, array<int64_t>({0, -1, 5}), array<int64_t>({7, 8}));
  CHECK(numbers(x)[0] == 7);
  CHECK(numbers(x)[11] == 8);
  CHECK(numbers(x)[5] == 7);  // values begin again
  xp::put(x.transpose(), array<int64_t>({1}), array(9.0));
  CHECK(numbers(x)[4] == 9);
  if (tells_at_once) CHECK_THROWS_AS(xp::put(x, array<int64_t>({12}), array(1.0)), IndexError);
  CHECK_THROWS_AS(xp::put(x, array<int64_t>({1}), zeros({0})), ValueError);
}
