#include "kusari/framework/functions/activation/thresholded_relu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("thresholded_relu") {
  for (const double alpha : {1.0, -0.5, 0.0}) {
    check_unary(
        "thresholded_relu", [&](const Variable& x) { return F::thresholded_relu(x, alpha); },
        [&](double x) { return x > static_cast<float>(alpha) ? x : 0; }, -3.01, 3.02);
  }
}

TEST_CASE("thresholded_relu at its edge") {
  const Variable x(array<float>({0.9f, 1, 1.1f, NAN}));
  const Variable y = F::thresholded_relu(x);
  check_close(y, {4}, {0, 0, 1.1f, NAN});
  check_close(array<double>(gradient(y, x)), {4}, {0, 0, 1, 0});
  CHECK_THROWS_WITH_AS(F::thresholded_relu(x, NAN), "F::thresholded_relu: alpha is nan: it must be a number",
                       ValueError);
}

}  // namespace
}  // namespace kusari
