#include "kusari/framework/functions/array/squeeze.h"

#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("squeeze") {
  const Array x = array<float>({1, 2, 3}, {1, 3, 1});
  check_close(F::squeeze(x), {3}, {1, 2, 3});
  check_close(F::squeeze(x, 0), {3, 1}, {1, 2, 3});
  check_close(F::squeeze(x, {0, -1}), {3}, {1, 2, 3});
  CHECK(F::squeeze(ones({1, 1})).shape() == Shape{});
  check_gradients([](const Variable& v) { return F::squeeze(v); }, uniform({1, 3, 1}, -1, 1));
  CHECK_THROWS_WITH_AS(F::squeeze(x, -2), "F::squeeze: x has shape (1, 3, 1): x.shape[1] must equal 1 (3 != 1)",
                       TypeError);
  CHECK_THROWS_AS(F::squeeze(x, 3), IndexError);
}

TEST_CASE("expand_dims") {
  const Array x = array<float>({1, 2, 3});
  check_close(F::expand_dims(x, 0), {1, 3}, {1, 2, 3});
  check_close(F::expand_dims(x, -1), {3, 1}, {1, 2, 3});
  CHECK(F::expand_dims(ones({}), 0).shape() == Shape{1});
  check_gradients([](const Variable& v) { return F::expand_dims(v, 1); }, uniform({2, 3}, -1, 1));
  CHECK_THROWS_AS(F::expand_dims(x, 2), IndexError);
}

}  // namespace
}  // namespace kusari
