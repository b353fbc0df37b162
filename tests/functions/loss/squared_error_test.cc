#include "kusari/framework/functions/loss/squared_error.h"

#include <cmath>

#include "kusari/framework/functions/loss/absolute_error.h"
#include "kusari/framework/functions/loss/mean_absolute_error.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("squared_error and absolute_error") {
  const auto squared = [](const Variable& a, const Variable& b) { return F::squared_error(a, b); };
  const auto difference = [](const Variable& a, const Variable& b) { return F::squared_difference(a, b); };
  const auto absolute = [](const Variable& a, const Variable& b) { return F::absolute_error(a, b); };
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 2}}) {
    const Array x0 = uniform(shape, -2, 0, 1), x1 = uniform(shape, 1, 2, 2);
    check_forward(
        squared, [](double a, double b) { return (a - b) * (a - b); }, x0, x1);
    check_forward(
        difference, [](double a, double b) { return (a - b) * (a - b); }, x0, x1);
    check_forward(
        absolute, [](double a, double b) { return std::fabs(a - b); }, x0, x1);
    check_gradients(squared, x0, x1);
    check_gradients(absolute, x0, x1);
  }
  const Variable x(array<float>({1, 2})), same(array<float>({1, 3}));
  CHECK(gradient(F::absolute_error(x, same), x) == std::vector<double>{0, -1});
}

TEST_CASE("mean_squared_error and mean_absolute_error") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x0 = array<float>({1, 2, 3, 4}, {2, 2}).astype(dtype),
                x1 = array<float>({1, 0, 6, 4.5f}, {2, 2}).astype(dtype);
    CHECK(F::mean_squared_error(x0, x1).dtype() == dtype);
    check_close(F::mean_squared_error(x0, x1), {}, {(4 + 9 + 0.25) / 4});
    check_close(F::mean_absolute_error(x0, x1), {}, {(2 + 3 + 0.5) / 4});
  }
  CHECK(F::mean_squared_error(ones({4096}, Dtype::float16), zeros({4096}, Dtype::float16)).item<float>() == 1);
  CHECK(F::mean_absolute_error(ones({4096}, Dtype::float16), zeros({4096}, Dtype::float16)).item<float>() == 1);
  const Array x0 = uniform({2, 3}, -2, 0, 1), x1 = uniform({2, 3}, 1, 2, 2);
  check_gradients([](const Variable& a, const Variable& b) { return F::mean_squared_error(a, b); }, x0, x1);
  check_gradients([](const Variable& a, const Variable& b) { return F::mean_absolute_error(a, b); }, x0, x1);
}

TEST_CASE("errors of unlike arguments") {
  const Array x = ones({2}), y = ones({3}), z = ones({2}, Dtype::float64);
  CHECK_THROWS_WITH_AS(F::mean_squared_error(x, y),
                       "F::mean_squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape",
                       TypeError);
  CHECK_THROWS_AS(F::mean_squared_error(x, z), TypeError);
  CHECK_THROWS_AS(F::mean_absolute_error(x, y), TypeError);
  CHECK_THROWS_AS(F::squared_error(x, ones({1})), TypeError);
  CHECK_THROWS_AS(F::absolute_error(x, z), TypeError);
  CHECK_THROWS_AS(F::absolute_error(int_ones({2}), int_ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
