#include "kusari/framework/functions/loss/token_cross_entropy.h"

#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari::token_cross_entropy_test {
namespace {
using namespace testing;
}  // namespace

TEST_CASE("token_cross_entropy is softmax_cross_entropy over the last axis") {
  const Array x = uniform({2, 3, 5}, -2, 2);
  const Array t = array<int32_t>({0, 4, -1, 2, 2, 1}, {2, 3}, test_device());
  const Variable flat_x(x.reshape({6, 5})), flat_t(t.reshape({6}), false);
  const double expected = F::softmax_cross_entropy(flat_x, flat_t).item<double>();
  CHECK(F::token_cross_entropy(Variable(x), Variable(t, false)).item<double>() == doctest::Approx(expected));
  const Variable each = F::token_cross_entropy(Variable(x), Variable(t, false), {.reduce = F::Reduce::no});
  CHECK(each.shape() == Shape{2, 3});
  CHECK(each.to_vector<double>() ==
        F::softmax_cross_entropy(flat_x, flat_t, {.reduce = F::Reduce::no}).to_vector<double>());
  check_gradients(
      [&](const Variable& scores) {
        return F::token_cross_entropy(scores, Variable(t, false), {.enable_double_backprop = true});
      },
      x);
  CHECK_THROWS_WITH_AS(F::token_cross_entropy(Variable(x), Variable(t.reshape({6}), false)),
                       doctest::Contains("F::token_cross_entropy: t has shape (6,) and x (2, 3, 5)"), TypeError);
}

}  // namespace kusari::token_cross_entropy_test
