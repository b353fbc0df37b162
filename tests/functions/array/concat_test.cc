#include "kusari/framework/functions/array/concat.h"

#include <vector>

#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("concat") {
  const Array a = array<float>({1, 2, 3, 4}, {2, 2}), b = array<float>({5, 6}, {2, 1});
  check_close(F::concat({a, b}), {2, 3}, {1, 2, 5, 3, 4, 6});
  check_close(F::concat({a, a.transpose()}, 0), {4, 2}, {1, 2, 3, 4, 1, 3, 2, 4});
  check_close(F::concat({a, zeros({2, 0}), b}, -1), {2, 3}, {1, 2, 5, 3, 4, 6});
  check_close(F::concat({a}), {2, 2}, {1, 2, 3, 4});
  CHECK(F::concat({a.astype(Dtype::float16), b.astype(Dtype::float16)}).dtype() == Dtype::float16);
  check_gradients(
      [](const Variable& x, const Variable& y, const Variable& z) {
        return F::concat({x, y, z});
      },
      uniform({2, 2}, -1, 1, 1), uniform({2, 0}, -1, 1, 2), uniform({2, 3}, -1, 1, 3));
}

TEST_CASE("concat keeps images channels-last") {
  const Array a = uniform({2, 3, 4, 5}, -1, 1, 1), b = uniform({2, 2, 4, 5}, -1, 1, 2);
  const Variable y = F::concat({a.channels_last(), b});
  CHECK(has_image_layout(y.array()));
  CHECK(y.to_vector<double>() == F::concat({a, b}).to_vector<double>());
  CHECK(F::concat({a, b}).array().is_contiguous());
}

TEST_CASE("concat of what does not fit") {
  CHECK_THROWS_WITH_AS(F::concat(std::span<const Variable>()), "F::concat: there must be at least one array",
                       ValueError);
  CHECK_THROWS_AS(F::concat({ones({2})}), IndexError);
  CHECK_THROWS_AS(F::concat({ones({2, 3}), ones({3, 3})}), TypeError);
  CHECK_THROWS_AS(F::concat({ones({2, 3}), ones({2, 3, 1})}), TypeError);
  CHECK_THROWS_AS(F::concat({ones({2, 3}), ones({2, 3}, Dtype::float64)}), TypeError);
}

TEST_CASE("split_axis") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  const Variables halves = F::split_axis(x, 2, 1);
  REQUIRE(halves.size() == 2);
  check_close(halves[0], {2, 2}, {1, 2, 5, 6});
  check_close(halves[1], {2, 2}, {3, 4, 7, 8});
  const Variables pieces = F::split_axis(x, {1, 1, 9}, -1);
  REQUIRE(pieces.size() == 4);
  check_close(pieces[0], {2, 1}, {1, 5});
  CHECK(pieces[1].shape() == Shape{2, 0});
  check_close(pieces[2], {2, 3}, {2, 3, 4, 6, 7, 8});
  CHECK(pieces[3].shape() == Shape{2, 0});
  CHECK(F::split_axis(x, 1, 0)[0].array().raw_data() == x.raw_data());
  check_gradients([](const Variable& v) { return F::split_axis(v, {1, 3}, 1); }, uniform({2, 4}, -1, 1));
  CHECK_THROWS_WITH_AS(F::split_axis(x, 3, 1),
                       "F::split_axis: x has shape (2, 4): x.shape[1] must be a multiple of the number of sections (3)",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::split_axis(x, {3, 1}, 1), "F::split_axis: index 1 must be at least 3, the index before it",
                       ValueError);
  CHECK_THROWS_AS(F::split_axis(x, 2, 2), IndexError);
}

TEST_CASE("split_axis with a piece that nobody uses") {
  const Variable x(array<float>({1, 2, 3}));
  CHECK(gradient(F::split_axis(x, {1, 2}, 0)[1], x) == std::vector<double>{0, 1, 0});
}

TEST_CASE("concat and stack say which array is the odd one") {
  const Array a = ones({2, 3}), odd = ones({3, 4}), wide = ones({2, 3}, Dtype::float64);
  const std::vector<Variable> third = {a, a, odd, a}, last = {a, a, a, wide}, absent = {a, a, Variable()};
  CHECK_THROWS_WITH_AS(
      F::concat(third),
      "F::concat: xs[2] has shape (3, 4) but xs[0] has shape (2, 3): xs[2].shape[0] must equal xs[0].shape[0] (3 != 2)",
      TypeError);
  CHECK_THROWS_WITH_AS(F::concat(last),
                       "F::concat: xs[3] has dtype float64 but xs[0] has dtype float32: xs[3].dtype must equal "
                       "xs[0].dtype (float64 != float32)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::concat(absent), "F::concat: xs[2] is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(
      F::stack(third),
      "F::stack: xs[2] has shape (3, 4) but xs[0] has shape (2, 3): xs[2].shape must equal xs[0].shape", TypeError);
  CHECK_THROWS_WITH_AS(F::stack(absent), "F::stack: xs[2] is not given: it is required", TypeError);
}

TEST_CASE("stack") {
  const Array a = array<float>({1, 2}), b = array<float>({3, 4});
  check_close(F::stack({a, b}), {2, 2}, {1, 2, 3, 4});
  check_close(F::stack({a, b}, -1), {2, 2}, {1, 3, 2, 4});
  CHECK(F::stack({ones({}), ones({})}).shape() == Shape{2});
  check_gradients(
      [](const Variable& x, const Variable& y) {
        return F::stack({x, y}, 1);
      },
      uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2));
  CHECK_THROWS_AS(F::stack({a, ones({3})}), TypeError);
  CHECK_THROWS_AS(F::stack({a, b}, 2), IndexError);
  CHECK_THROWS_WITH_AS(F::stack(std::span<const Variable>()), "F::stack: there must be at least one array", ValueError);
}

TEST_CASE("separate") {
  const Variable x(array<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Variables rows = F::separate(x);
  REQUIRE(rows.size() == 2);
  check_close(rows[1], {3}, {4, 5, 6});
  const Variables columns = F::separate(x, -1);
  REQUIRE(columns.size() == 3);
  check_close(columns[2], {2}, {3, 6});
  CHECK(gradient(columns[1], x) == std::vector<double>{0, 1, 0, 0, 1, 0});
  check_gradients([](const Variable& v) { return F::separate(v, 1); }, uniform({2, 3}, -1, 1));
  CHECK_THROWS_AS(F::separate(ones({}), 0), IndexError);
}

}  // namespace
}  // namespace kusari
