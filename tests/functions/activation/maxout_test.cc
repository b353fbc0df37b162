#include "kusari/framework/functions/activation/maxout.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("maxout") {
  const Array x = array<float>({1, 5, -3, 4, 2, 9, 8, 7}, {2, 4});
  check_close(F::maxout(x, 2), {2, 2}, {5, 4, 9, 8});
  check_close(F::maxout(x, 4), {2, 1}, {5, 9});
  check_close(F::maxout(x, 2, 0), {1, 4}, {2, 9, 8, 7});
  check_gradients([](const Variable& v) { return F::maxout(v, 3); }, uniform({2, 6, 2}, -1, 1));
  CHECK_THROWS_WITH_AS(F::maxout(x, 3), "F::maxout: x has shape (2, 4): x.shape[1] must be a multiple of pool_size (3)",
                       ValueError);
}

}  // namespace
}  // namespace kusari
