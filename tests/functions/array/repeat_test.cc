#include "kusari/framework/functions/array/repeat.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("repeat") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::repeat(x, 2), {12}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  check_close(F::repeat(x, 2, 0), {4, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  check_close(F::repeat(x, 2, -1), {2, 6}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  check_close(F::repeat(x, {1, 0, 2}, 1), {2, 3}, {1, 3, 3, 4, 6, 6});
  check_close(F::repeat(x, {2}, 1), {2, 6}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  check_close(F::repeat(x, {0, 0, 0, 1, 0, 2}), {3}, {4, 6, 6});
  CHECK(F::repeat(x, 0, 1).shape() == Shape{2, 0});
  CHECK(F::repeat(x, {0, 0}, 0).shape() == Shape{0, 3});
  CHECK(F::repeat(zeros({0, 3}), 4, 1).shape() == Shape{0, 12});
  CHECK(F::repeat(array<int>({1, 2}), 2).to_vector<int>() == std::vector<int>{1, 1, 2, 2});
  CHECK(F::repeat(ones({1, 1, 1, 1, 1, 1, 1, 2}), 3, 0).shape() == Shape{3, 1, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("repeat: derivatives") {
  const Array x = uniform({2, 3, 2}, -1, 1);
  check_gradients([](const Variable& v) { return F::repeat(v, 2); }, x);
  check_gradients([](const Variable& v) { return F::repeat(v, 3, 1); }, x);
  check_gradients([](const Variable& v) { return F::repeat(v, {1, 0, 2}, 1); }, x);
  check_gradients([](const Variable& v) { return F::repeat(v, 0, 1); }, x);
}

TEST_CASE("repeat says what does not fit") {
  CHECK_THROWS_WITH_AS(F::repeat(zeros({2, 3}), {1, 2}, 1),
                       "F::repeat: there are 2 repeats but x has shape (2, 3): there must be one, or x.shape[1]",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::repeat(zeros({2}), -1), "F::repeat: repeats is -1: it must not be negative", ValueError);
  CHECK_THROWS_AS(F::repeat(zeros({2}), {1, -1}, 0), ValueError);
  CHECK_THROWS_AS(F::repeat(zeros({2}), 1, 1), IndexError);
}

}  // namespace
}  // namespace kusari
