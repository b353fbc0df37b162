#include "kusari/framework/functions/array/tile.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("tile") {
  const Array x = array<float>({1, 2, 3, 4}, {2, 2});
  check_close(F::tile(x, 2), {2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  check_close(F::tile(x, {2, 1}), {4, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  check_close(F::tile(x, {2, 2}), {4, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4});
  check_close(F::tile(x, {2, 1, 2}), {2, 2, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4});
  check_close(F::tile(array<float>({5, 6}), {3, 2}), {3, 4}, {5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6});
  check_close(F::tile(full({}, 3, Dtype::float32), {2}), {2}, {3, 3});
  CHECK(F::tile(x, {0, 2}).shape() == Shape{0, 4});
  CHECK(F::tile(x, {2, 0}).shape() == Shape{4, 0});
  CHECK(F::tile(zeros({0, 2}), {3, 3}).shape() == Shape{0, 6});
  CHECK(F::tile(ones({1, 1, 1, 1, 1, 1, 1, 2}), {2, 3}).shape() == Shape{1, 1, 1, 1, 1, 1, 2, 6});
}

TEST_CASE("tile: derivatives") {
  const Array x = uniform({2, 3}, -1, 1);
  check_gradients([](const Variable& v) { return F::tile(v, 2); }, x);
  check_gradients([](const Variable& v) { return F::tile(v, {3, 1, 2}); }, x);
  check_gradients([](const Variable& v) { return F::tile(v, {0, 2}); }, x);
  CHECK_THROWS_AS(F::tile(x, {1, int64_t{1} << 62}), ValueError);
  CHECK_THROWS_AS(F::tile(zeros({9, 0}), {int64_t{1} << 60, 1}), ValueError);
  CHECK_THROWS_WITH_AS(F::tile(x, {1, -2}), "F::tile: reps holds -2: it must not be negative", ValueError);
}

}  // namespace
}  // namespace kusari
