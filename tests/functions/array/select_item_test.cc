#include "kusari/framework/functions/array/select_item.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("select_item") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::select_item(x, array<int32_t>({2, 0})), {2}, {3, 4});
  check_close(F::select_item(x, array<int32_t>({-1, 1})), {2}, {3, 5});
  check_gradients(
      [](const Variable& v) {
        return F::select_item(v, array<int64_t>({1, 1, 0}));
      },
      uniform({3, 2}, -1, 1));
  CHECK_THROWS_WITH_AS(F::select_item(x, array<int32_t>({0, 3})),
                       doctest::Contains("F::select_item: index 3 is out of range"), IndexError);
  CHECK_THROWS_WITH_AS(
      F::select_item(x, array<int32_t>({0})),
      "F::select_item: x has shape (2, 3) and t has shape (1,) and dtype int32: x must be (N, C) and t "
      "(N) integers",
      TypeError);
  CHECK_THROWS_AS(F::select_item(x, ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
