#include "kusari/framework/functions/math/polygamma.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("polygamma") {
  for (int n = 0; n <= 4; ++n) {
    CAPTURE(n);
    const auto polygamma = [n](const Variable& x) { return F::polygamma(n, x); };
    check_forward(
        polygamma, [n](double x) { return static_cast<double>(polygamma_reference(n, x)); }, uniform({3, 2}, 1, 4));
    check_gradients(polygamma, uniform({5}, 1, 4));
    check_gradients(polygamma, uniform({4}, -0.8, -0.3));
  }
  check_gradients([](const Variable& x) { return F::polygamma(1, x); }, uniform({0, 2}, 1, 2));
}

TEST_CASE("polygamma of orders and arguments that broadcast") {
  const Array n = array<int32_t>({0, 1, 2}, {3, 1}, test_device());
  const Array x = uniform({2}, 1, 3);
  const std::vector<double> at = x.to_vector<double>();
  std::vector<double> expected;
  for (int k = 0; k < 3; ++k) {
    for (const double v : at) expected.push_back(static_cast<double>(polygamma_reference(k, v)));
  }
  const auto polygamma = [&](const Variable& v) { return F::polygamma(n, v); };
  check_close(polygamma(x), {3, 2}, expected);
  CHECK(polygamma(x.astype(Dtype::float16)).dtype() == Dtype::float16);
  check_gradients(polygamma, x);
}

TEST_CASE("polygamma refuses other dtypes") {
  const Array x = uniform({2}, 1, 2);
  CHECK_THROWS_WITH_AS(F::polygamma(Variable(x), x),
                       "F::polygamma: n has dtype float64: n.dtype must be an integer or bool", TypeError);
  CHECK_THROWS_WITH_AS(F::polygamma(1, Variable(int_ones({2}), false)),
                       "F::polygamma: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
