#include "kusari/framework/functions/activation/gelu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("gelu") {
  check_unary(
      "gelu", [](const Variable& x) { return F::gelu(x); },
      [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -3, 3);
}

TEST_CASE("gelu with tanh") {
  check_unary(
      "gelu_tanh", [](const Variable& x) { return F::gelu(x, F::GeluForm::tanh); },
      [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); },
      -3, 3);
}

TEST_CASE("gelu far from zero") {
  for (const F::GeluForm form : {F::GeluForm::exact, F::GeluForm::tanh}) {
    check_close(F::gelu(array<float>({-1000.f, 0.f, 1000.f}), form), {3}, {0, 0, 1000});
    const Variable x(array<float>({-3e38f, -1e30f, 0.f, 1e30f, 3e38f}));
    check_close(grad({F::gelu(x, form)}, {x})[0], {5}, {0, 0, 0.5, 1, 1});
    check_close(grad({F::gelu(x, form)}, {x}, {.enable_double_backprop = true})[0], {5}, {0, 0, 0.5, 1, 1});
  }
}

}  // namespace
}  // namespace kusari
