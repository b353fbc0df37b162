#include "kusari/framework/functions/array/where.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("where") {
  const Array condition = array<bool>({true, false, false, true}, {2, 2}, test_device());
  const Array x = array<float>({1, 2, 3, 4}, {2, 2}, test_device()),
              y = array<float>({5, 6, 7, 8}, {2, 2}, test_device());
  check_close(F::where(condition, x, y), {2, 2}, {1, 6, 7, 4});
  check_close(F::where(condition, ones({}, Dtype::float32, test_device()), y), {2, 2}, {1, 6, 7, 1});
  check_close(F::where(array<bool>({true, false}, test_device()), x, ones({1}, Dtype::float32, test_device())), {2, 2},
              {1, 1, 3, 1});
  const Array ints = F::where(condition, x.astype(Dtype::int32), y.astype(Dtype::int32)).array();
  CHECK(ints.to_vector<int>() == std::vector<int>{1, 6, 7, 4});
  CHECK(ints.dtype() == Dtype::int32);
  check_gradients([&](const Variable& a, const Variable& b) { return F::where(condition, a, b); },
                  uniform({2, 2}, -1, 1, 1), uniform({2}, -1, 1, 2));
  CHECK_THROWS_WITH_AS(F::where(x, x, y),
                       "F::where: condition has dtype float32: condition.dtype must equal bool (float32 != bool)",
                       TypeError);
  CHECK_THROWS_AS(F::where(condition, x, y.astype(Dtype::float64)), TypeError);
  CHECK_THROWS_AS(F::where(condition, x, ones({3}, Dtype::float32, test_device())), TypeError);
}

}  // namespace
}  // namespace kusari
