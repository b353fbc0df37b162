#include "kusari/framework/functions/array/reshape.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("reshape") {
  const Variable x(array<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  check_close(F::reshape(x, {3, 2}), {3, 2}, {1, 2, 3, 4, 5, 6});
  check_close(F::reshape(x, {-1}), {6}, {1, 2, 3, 4, 5, 6});
  check_close(F::reshape(x.array().transpose(), {2, 3}), {2, 3}, {1, 4, 2, 5, 3, 6});
  CHECK(is_same(F::reshape(x, {2, 3}), x));
  CHECK(F::reshape(x, {6}).array().raw_data() == x.array().raw_data());
  CHECK(F::reshape(ones({1}), {}).shape() == Shape{});
  CHECK(F::reshape(zeros({0, 3}), {3, 0}).shape() == Shape{3, 0});
  check_gradients([](const Variable& v) { return F::reshape(v, {4, -1}); }, uniform({2, 3, 2}, -1, 1));
  CHECK_THROWS_AS(F::reshape(x, {4}), TypeError);
  CHECK_THROWS_AS(F::reshape(x, {4, -1}), TypeError);
}

TEST_CASE("flatten") {
  check_close(F::flatten(array<float>({1, 2, 3, 4}, {2, 2})), {4}, {1, 2, 3, 4});
  CHECK(F::flatten(ones({})).shape() == Shape{1});
  check_gradients([](const Variable& v) { return F::flatten(v); }, uniform({2, 3}, -1, 1));
}

}  // namespace
}  // namespace kusari
