#include "kusari/framework/functions/activation/prelu.h"

#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("prelu: one slope, one per channel, one per element") {
  const Array x = array<double>({1, -2, -3, 0, -5, 6, 7, -8}, {2, 2, 2});
  for (const Dtype dtype : kFloatingDtypes) {
    const Array t = x.astype(dtype);
    const auto slopes = [&](std::initializer_list<double> values, const Shape& shape) {
      return array(values, shape).astype(dtype);
    };
    check_close(F::prelu(t, slopes({0.5}, {})), {2, 2, 2}, {1, -1, -1.5, 0, -2.5, 6, 7, -4});
    check_close(F::prelu(t, slopes({0.5, 2}, {2})), {2, 2, 2}, {1, -1, -6, 0, -2.5, 6, 7, -16});
    check_close(F::prelu(t, slopes({0.5, 2, -1, 0}, {2, 2})), {2, 2, 2}, {1, -4, 3, 0, -2.5, 6, 7, 0});
    CHECK(F::prelu(t, slopes({0.5}, {})).dtype() == dtype);
  }
}

TEST_CASE("prelu: derivatives") {
  const auto prelu = [](const Variable& x, const Variable& W) { return F::prelu(x, W); };
  const Array x = uniform({2, 3, 4}, -2, 2);
  for (const Shape& shape : {Shape{}, {3}, {3, 4}}) check_gradients(prelu, x, uniform(shape, -1, 1, 2));
  check_gradients(prelu, uniform({0, 3}, -1, 1), uniform({3}, -1, 1));
  const Variable at_zero(zeros({1, 2}));
  CHECK(gradient(F::prelu(at_zero, full({}, 0.25, Dtype::float32)), at_zero) == std::vector<double>{1, 1});
}

TEST_CASE("prelu says what does not fit") {
  CHECK_THROWS_WITH_AS(F::prelu(zeros({2, 3}), zeros({2})),
                       "F::prelu: x has shape (2, 3) but W has shape (2,): W must have the sizes of x's axes from axis "
                       "1 on",
                       ValueError);
  CHECK_THROWS_AS(F::prelu(zeros({3}), zeros({3})), ValueError);
  CHECK_THROWS_AS(F::prelu(zeros({2, 3}), zeros({3}, Dtype::float64)), TypeError);
}

}  // namespace
}  // namespace kusari
