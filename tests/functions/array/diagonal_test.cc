#include "kusari/framework/functions/array/diagonal.h"

#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("diagonal") {
  const Array x = array<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  check_close(F::diagonal(x), {2}, {0, 4});
  check_close(F::diagonal(x, {.offset = 1}), {2}, {1, 5});
  check_close(F::diagonal(x, {.offset = -1}), {1}, {3});
  check_close(F::diagonal(x, {.axis1 = 1, .axis2 = 0}), {2}, {0, 4});
  check_close(F::diagonal(x, {.offset = 3}), {0}, {});
  check_close(F::diagonal(x, {.offset = -7}), {0}, {});
  check_close(F::diagonal(x, {.offset = std::numeric_limits<int64_t>::min()}), {0}, {});
  check_close(F::diagonal(x, {.offset = std::numeric_limits<int64_t>::max()}), {0}, {});
  // x[i][j][k] = 6 i + 3 j + k: the diagonals of axes 0 and 2.
  const Array cube = arange(12, Dtype::float32, test_device()).reshape({2, 2, 3});
  check_close(F::diagonal(cube, {.axis1 = 0, .axis2 = -1}), {2, 2}, {0, 7, 3, 10});
  CHECK(F::diagonal(cube).array().raw_data() == cube.raw_data());
}

TEST_CASE("diagonal's gradients") {
  for (const int64_t offset : {-1, 0, 2, 9}) {
    check_gradients([=](const Variable& x) { return F::diagonal(x, {.offset = offset, .axis1 = 2, .axis2 = 0}); },
                    uniform({3, 2, 4}, -1, 1));
  }
  const Variable x(array<float>({1, 2, 3, 4}, {2, 2}));
  CHECK(gradient(F::diagonal(x), x, array<float>({5, 6})) == std::vector<double>{5, 0, 0, 6});
}

TEST_CASE("diagonal's errors") {
  CHECK_THROWS_WITH_AS(F::diagonal(ones({2, 2}), {.axis1 = 1, .axis2 = -1}),
                       "F::diagonal: axis1 1 and axis2 -1 of shape (2, 2) are one axis", ValueError);
  CHECK_THROWS_WITH_AS(F::diagonal(ones({2})), "F::diagonal: x has shape (2,): x.ndim must be at least 2 (1 < 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::diagonal(Variable()), "F::diagonal: x is not given: it is required", TypeError);
  CHECK_THROWS_AS(F::diagonal(ones({2, 2}), {.axis2 = 2}), IndexError);
}

}  // namespace
}  // namespace kusari
