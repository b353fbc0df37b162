#include "kusari/framework/functions/pooling/spatial_pyramid_pooling_2d.h"

#include <algorithm>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("spatial_pyramid_pooling_2d") {
  const Array x = arange(2 * 2 * 4 * 4).reshape({2, 2, 4, 4});
  check_close(F::spatial_pyramid_pooling_2d(x, 1), {2, 2, 1, 1}, {15, 31, 47, 63});
  check_close(F::spatial_pyramid_pooling_2d(x, 2), {2, 10, 1, 1},
              {15, 31, 5, 7, 13, 15, 21, 23, 29, 31, 47, 63, 37, 39, 45, 47, 53, 55, 61, 63});
  // 5 x 7: windows of 3 x 4 with no padding before them at level 1, and of 2 x 2 with 1 x 0 at level 2.
  const Variable y = F::spatial_pyramid_pooling_2d(uniform({3, 4, 5, 7}, 0, 1).channels_last(), 3);
  CHECK(y.shape() == Shape{3, 4 * 21, 1, 1});
  CHECK(F::spatial_pyramid_pooling_2d(ones({0, 4, 5, 7}), 2).shape() == Shape{0, 20, 1, 1});
  check_gradients([](const Variable& v) { return F::spatial_pyramid_pooling_2d(v, 2); }, uniform({2, 3, 5, 3}, -1, 1));

  CHECK_THROWS_WITH_AS(F::spatial_pyramid_pooling_2d(x, 2, "average"),
                       "F::spatial_pyramid_pooling_2d: pooling is \"average\": it must be \"max\"", ValueError);
  CHECK_THROWS_WITH_AS(F::spatial_pyramid_pooling_2d(x, 0),
                       "F::spatial_pyramid_pooling_2d: pyramid_height is 0: it must be between 1 and 31", ValueError);
  CHECK_THROWS_WITH_AS(F::spatial_pyramid_pooling_2d(ones({2, 3}), 1),
                       "F::spatial_pyramid_pooling_2d: x has shape (2, 3): x.ndim must equal 4 (2 != 4)", TypeError);
}

}  // namespace
}  // namespace kusari
