#include "kusari/framework/functions/math/log_ndtr.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("log_ndtr") {
  check_unary(
      "log_ndtr", [](const Variable& x) { return F::log_ndtr(x); },
      [](double x) { return static_cast<double>(log_ndtr_reference(x)); }, -3, 2);
}

TEST_CASE("log_ndtr and its gradients in both tails") {
  const auto log_ndtr = [](const Variable& x) { return F::log_ndtr(x); };
  for (const double at : {-60.0, -15.0, 6.0, 45.0}) {
    CAPTURE(at);
    check_gradients(log_ndtr, uniform({4}, at, at + 1));
    const Variable x(array<float>({static_cast<float>(at)}));
    const Variable y = log_ndtr(x);
    CHECK(y.item<double>() == doctest::Approx(static_cast<double>(log_ndtr_reference(at))).epsilon(1e-6).scale(1e-30));
    CHECK(gradient(y, x)[0] ==
          doctest::Approx(static_cast<double>(log_ndtr_grad_reference(at))).epsilon(1e-6).scale(1e-30));
  }
}

}  // namespace
}  // namespace kusari
