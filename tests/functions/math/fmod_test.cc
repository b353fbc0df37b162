#include "kusari/framework/functions/math/fmod.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("fmod") {
  const Array x = array<double>({-7.5, -2.25, 0.5, 3.75, 9.5, 1}), y = array<double>({2, 1.5, 3, -2, 2.5, -4});
  const auto fmod = [](const Variable& a, const Variable& b) { return F::fmod(a, b); };
  check_forward(
      fmod, [](double a, double b) { return std::fmod(a, b); }, x, y);
  check_gradients(fmod, x, y);
  check_gradients(fmod, array<double>({7.5, 2.25}, {2, 1}), array<double>({2, 1.6, 4}));
  check_gradients(fmod, uniform({0, 2}, 0, 1), uniform({2}, 1, 2));
}

TEST_CASE("fmod keeps the sign of x, and the quotient is no variable") {
  const Variable x(array<double>({-7.5})), divisor(array<double>({2}));
  const Variable y = F::fmod(x, divisor);
  CHECK(y.item<double>() == -1.5);
  CHECK(gradient(y, divisor) == std::vector<double>{3});  // y = x + 3 * divisor
  CHECK(std::isnan(F::fmod(array<double>({1}), array<double>({0})).item<double>()));
  CHECK_THROWS_WITH_AS(F::fmod(x, divisor.array().astype(Dtype::float32)),
                       "F::fmod: x has dtype float64 but divisor has dtype float32: x.dtype must equal divisor.dtype "
                       "(float64 != float32)",
                       TypeError);
}

TEST_CASE("fmod: the gradient by the divisor where x / divisor is rounded to a whole number") {
  const Variable x(array<float>({1, 6, -1}, test_device())), divisor(array<float>({0.1f}, test_device()));
  CHECK(gradient(F::fmod(x, divisor), divisor) == std::vector<double>{-59});  // -9 - 59 + 9
}

}  // namespace
}  // namespace kusari
