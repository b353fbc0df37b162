#include "kusari/framework/core/shape.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

TEST_CASE("Shape of a vector, an array or a span") {
  const std::vector<int64_t> sizes = {2, 3};
  const std::array<int64_t, 2> same = {2, 3};
  CHECK(Shape(sizes) == Shape{2, 3});
  CHECK(Shape(same) == Shape{2, 3});
  CHECK(Shape(std::span<const int64_t>(sizes)) == Shape{2, 3});
  CHECK(Shape(std::vector<int64_t>()) == Shape{});
  CHECK_THROWS_AS(Shape(std::vector<int64_t>(9, 1)), ValueError);
}

TEST_CASE("shapes hold their sizes inline") {
  Shape shape{2, 3};
  CHECK(shape.ndim() == 2);
  CHECK(numel(shape) == 6);
  CHECK(numel(Shape{}) == 1);
  CHECK(numel(Shape{4, 0, 3}) == 0);
  shape.insert(1, 7);
  CHECK(shape == Shape{2, 7, 3});
  shape.erase(0);
  CHECK(shape == Shape{7, 3});
  shape.push_back(5);
  shape.pop_back();
  CHECK(shape == Shape{7, 3});
  CHECK_FALSE(shape == Shape{7});
  CHECK_FALSE(shape == Shape{7, 4});
  CHECK(shape.front() == 7);
  CHECK(shape.back() == 3);
  CHECK(Shape::filled(3, 2) == Shape{2, 2, 2});
}

TEST_CASE("a shape has at most eight axes") {
  Shape shape = Shape::filled(kMaxNdim, 1);
  CHECK_THROWS_WITH_AS(shape.push_back(1), "Shape: there are too many sizes: an array has at most 8 axes", ValueError);
  CHECK_THROWS_AS(shape.insert(0, 1), ValueError);
  CHECK(shape.ndim() == kMaxNdim);
}

TEST_CASE("shapes print as Python tuples") {
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{5}) == "(5,)");
  CHECK(to_string(Shape{2, 3, 4}) == "(2, 3, 4)");
}

TEST_CASE("strides of dense arrays") {
  CHECK(contiguous_strides(Shape{2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides(Shape{}) == Strides{});
  CHECK(channels_last_strides(Shape{2, 3, 4, 5}) == Strides{60, 1, 15, 3});
  CHECK(channels_last_strides(Shape{2, 3, 4}) == Strides{12, 1, 3});
  CHECK(channels_last_strides(Shape{2, 3}) == Strides{3, 1});
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast_shapes({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast_shapes({}, {4, 1}) == Shape{4, 1});
  CHECK(broadcast_shapes({4, 1}, {1, 5}) == Shape{4, 5});
  CHECK(broadcast_shapes({1}, {0}) == Shape{0});
  CHECK(broadcast_shapes({5, 1, 2}, {7, 1}) == Shape{5, 7, 2});
  CHECK_THROWS_WITH_AS(broadcast_shapes({2, 3}, {2}, "add"),
                       "add: shapes (2, 3) and (2,) do not broadcast: axis 1 has sizes 3 and 2", TypeError);
  CHECK_THROWS_AS(broadcast_shapes({2}, {0}), TypeError);
}

TEST_CASE("axes count from both ends") {
  CHECK(normalize_axis(0, 3, "f") == 0);
  CHECK(normalize_axis(-1, 3, "f") == 2);
  CHECK(normalize_axis(-3, 3, "f") == 0);
  CHECK_THROWS_WITH_AS(normalize_axis(3, 3, "sum"), "sum: axis 3 is out of range for 3 axes", IndexError);
  CHECK_THROWS_AS(normalize_axis(-4, 3, "sum"), IndexError);
  CHECK_THROWS_AS(normalize_axis(0, 0, "sum"), IndexError);
}

}  // namespace
}  // namespace kusari
