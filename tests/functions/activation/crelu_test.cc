#include "kusari/framework/functions/activation/crelu.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("crelu") {
  const Array x = array<float>({1, -2, -3, 4}, {2, 2});
  check_close(F::crelu(x), {2, 4}, {1, 0, 0, 2, 0, 4, 3, 0});
  check_close(F::crelu(x, 0), {4, 2}, {1, 0, 0, 4, 0, 2, 3, 0});
  check_gradients([](const Variable& v) { return F::crelu(v, -1); }, uniform({2, 3}, 0.5, 1));
  CHECK_THROWS_AS(F::crelu(x, 2), IndexError);
}

}  // namespace
}  // namespace kusari
