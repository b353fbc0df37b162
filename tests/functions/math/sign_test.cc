#include "kusari/framework/functions/math/sign.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sign") {
  const auto sign = [](const Variable& x) { return F::sign(x); };
  check_forward(
      sign, [](double x) { return x > 0 ? 1.0 : -1.0; }, uniform({3, 4}, -1, 1));
  check_close(F::sign(array<float>({-2, -0.f, 0, NAN})), {4}, {-1, 0, 0, NAN});
  CHECK_FALSE(F::sign(Variable(ones({2}))).requires_grad());
  const Variable y = F::sign(array<int8_t>({-100, 0, 7}, test_device()));
  CHECK(y.dtype() == Dtype::int8);
  CHECK(y.to_vector<int>() == std::vector<int>{-1, 0, 1});
}

}  // namespace
}  // namespace kusari
