#include "kusari/framework/functions/activation/hard_swish.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

double hard_swish_formula(double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }

TEST_CASE("hard_swish") { check_unary("hard_swish", F::hard_swish, hard_swish_formula, -5, 5); }

TEST_CASE("hard_swish at its edges and far away") {
  const Variable x(array<double>({-INFINITY, -1000, -3, 0, 3, 1000, INFINITY}));
  const Variable y = F::hard_swish(x);
  CHECK(std::isnan(y.to_vector<double>()[0]));  // 0 times infinity, as in PyTorch
  check_close(y.array().slice(0, 1, 6), {6}, {0, 0, 0, 3, 1000, INFINITY});
  check_close(array<double>(gradient(y, x)), {7}, {0, 0, 0, 0.5, 1, 1, 1});
  CHECK(std::isnan(F::hard_swish(array<float>({NAN})).to_vector<double>()[0]));
}

}  // namespace
}  // namespace kusari
