#include "kusari/framework/functions/activation/elu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("elu") {
  check_unary(
      "elu", [](const Variable& x) { return F::elu(x); }, [](double x) { return x >= 0 ? x : std::expm1(x); }, -2, 2);
}

TEST_CASE("elu with alpha") {
  check_unary(
      "elu", [](const Variable& x) { return F::elu(x, 0.5); },
      [](double x) { return x >= 0 ? x : 0.5 * std::expm1(x); }, -2, 2);
}

TEST_CASE("selu") {
  check_unary(
      "selu", [](const Variable& x) { return F::selu(x); },
      [](double x) { return 1.0507009873554805 * (x >= 0 ? x : 1.6732632423543772 * std::expm1(x)); }, -2, 2);
}

TEST_CASE("elu does not overflow") {
  const Variable x(array<float>({-1000.f, 1000.f}));
  const Variable y = F::elu(x);
  check_close(y, {2}, {-1, 1000});
  CHECK(gradient(y, x) == std::vector<double>{0, 1});
}

}  // namespace
}  // namespace kusari
