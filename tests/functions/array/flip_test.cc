#include "kusari/framework/functions/array/flip.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("flip, fliplr and flipud") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::flip(x, -1), {2, 3}, {3, 2, 1, 6, 5, 4});
  check_close(F::fliplr(x), {2, 3}, {3, 2, 1, 6, 5, 4});
  check_close(F::flipud(x), {2, 3}, {4, 5, 6, 1, 2, 3});
  check_gradients([](const Variable& v) { return F::flip(v, 1); }, uniform({2, 3}, -1, 1));
  CHECK_THROWS_AS(F::fliplr(ones({2})), IndexError);
}

}  // namespace
}  // namespace kusari
