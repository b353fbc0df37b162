#include "kusari/framework/functions/array/transpose_sequence.h"

#include "kusari/framework/functions/array/concat.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("transpose_sequence") {
  const Array a = array<float>({1, 2, 3}), b = array<float>({4, 5}), c = array<float>({6});
  const Variables y = F::transpose_sequence({a, b, c});
  REQUIRE(y.size() == 3);
  check_close(y[0], {3}, {1, 4, 6});
  check_close(y[1], {2}, {2, 5});
  check_close(y[2], {1}, {3});
  // Twice, it is the list that it began with.
  const Variables x = F::transpose_sequence({y[0], y[1], y[2]});
  REQUIRE(x.size() == 3);
  check_close(x[0], {3}, {1, 2, 3});
  check_close(x[1], {2}, {4, 5});
  check_close(x[2], {1}, {6});
}

TEST_CASE("transpose_sequence of sequences of one length, of rows, and of nothing") {
  const Array a = array<float>({1, 2, 3, 4}, {2, 2}), b = array<float>({5, 6, 7, 8}, {2, 2});
  const Variables y = F::transpose_sequence({a, b});
  REQUIRE(y.size() == 2);
  check_close(y[0], {2, 2}, {1, 2, 5, 6});
  check_close(y[1], {2, 2}, {3, 4, 7, 8});
  CHECK(F::transpose_sequence(std::span<const Variable>()).empty());
  CHECK(F::transpose_sequence({zeros({0, 2}), zeros({0, 2})}).empty());
}

TEST_CASE("transpose_sequence's gradients") {
  const auto joined = [](const Variable& a, const Variable& b, const Variable& c) {
    const Variables y = F::transpose_sequence({a, b, c});
    return F::concat(std::span<const Variable>(y.data(), y.size()), 0);
  };
  check_gradients(joined, uniform({4, 2}, -1, 1, 1), uniform({2, 2}, -1, 1, 2), uniform({2, 2}, -1, 1, 3));
  // Of a result that nobody used, and of an empty sequence.
  const Variable a(array<float>({1, 2, 3})), b(array<float>({4})), c(zeros({0}));
  const Variables y = F::transpose_sequence({a, b, c});
  const Variables gx = grad({y[1]}, {a, b, c}, {});
  CHECK(gx[0].to_vector<double>() == std::vector<double>{0, 1, 0});
  CHECK(gx[1].to_vector<double>() == std::vector<double>{0});
  CHECK(gx[2].shape() == Shape{0});
}

TEST_CASE("transpose_sequence's errors") {
  CHECK_THROWS_WITH_AS(F::transpose_sequence({ones({2}), ones({3})}),
                       "F::transpose_sequence: xs[1] has 3 elements but xs[0] has 2: the longest must come first",
                       ValueError);
  CHECK_THROWS_AS(F::transpose_sequence({ones({2, 3}), ones({2, 2})}), TypeError);
  CHECK_THROWS_AS(F::transpose_sequence({ones({2}), int_ones({2})}), TypeError);
  CHECK_THROWS_AS(F::transpose_sequence({ones({})}), TypeError);
}

}  // namespace
}  // namespace kusari
