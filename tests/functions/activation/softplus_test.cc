#include "kusari/framework/functions/activation/softplus.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("softplus") {
  check_unary(
      "softplus", [](const Variable& x) { return F::softplus(x); }, [](double x) { return std::log1p(std::exp(x)); },
      -2, 2);
}

TEST_CASE("softplus with beta") {
  check_unary(
      "softplus", [](const Variable& x) { return F::softplus(x, 20); },
      [](double x) { return std::log1p(std::exp(20 * x)) / 20; }, -1, 1);
}

TEST_CASE("softplus with a negative beta") {
  check_unary(
      "softplus", [](const Variable& x) { return F::softplus(x, -0.5); },
      [](double x) { return std::log1p(std::exp(-0.5 * x)) / -0.5; }, -2, 2);
}

TEST_CASE("softplus does not overflow") { check_close(F::softplus(array<float>({-1000.f, 1000.f})), {2}, {0, 1000}); }

}  // namespace
}  // namespace kusari
