#include "kusari/framework/functions/activation/hard_sigmoid.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("hard_sigmoid") {
  check_unary(
      "hard_sigmoid", [](const Variable& x) { return F::hard_sigmoid(x); },
      [](double x) { return std::fmin(std::fmax(0.2 * x + 0.5, 0), 1); }, -4, 4);
}

TEST_CASE("hard_sigmoid with another slope") {
  for (const F::HardSigmoidOptions& options : {F::HardSigmoidOptions{1.0 / 6, 0.5}, {-0.5, 0.25}, {0, 0.5}}) {
    check_unary(
        "hard_sigmoid", [&](const Variable& x) { return F::hard_sigmoid(x, options); },
        [&](double x) { return std::fmin(std::fmax(options.alpha * x + options.beta, 0), 1); }, -4, 4);
  }
  CHECK_THROWS_WITH_AS(F::hard_sigmoid(ones({2}), {.alpha = NAN}), "F::hard_sigmoid: alpha is nan: it must be a number",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::hard_sigmoid(ones({2}), {.beta = NAN}), "F::hard_sigmoid: beta is nan: it must be a number",
                       ValueError);
}

TEST_CASE("hard_sigmoid has derivative 0 at both edges") {
  const Variable x(array<float>({-2.5f, 0, 2.5f}));
  check_close(array<double>(gradient(F::hard_sigmoid(x), x)), {3}, {0, 0.2f, 0});
}

}  // namespace
}  // namespace kusari
