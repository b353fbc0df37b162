#include "kusari/framework/functions/normalization/rms_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::rms_normalization_test {
namespace {
using namespace testing;
}  // namespace

TEST_CASE("rms_normalization: rows divided by the root of their mean square") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable x(uniform({2, 3, 5}, -2, 2).astype(dtype)), gamma(uniform({5}, 0.5, 2, 2).astype(dtype));
    const std::vector<double> in = x.to_vector<double>(), factor = gamma.to_vector<double>();
    std::vector<double> expected(in.size());
    for (size_t row = 0; row < 6; ++row) {
      double square = 0;
      for (size_t i = 0; i < 5; ++i) square += in[5 * row + i] * in[5 * row + i] / 5;
      for (size_t i = 0; i < 5; ++i) expected[5 * row + i] = factor[i] * in[5 * row + i] / std::sqrt(square + 0.1);
    }
    const Variable y = F::rms_normalization(x, gamma, 0.1);
    CHECK(y.dtype() == dtype);
    check_close(y.array(), x.shape(), expected, 4);
  }
  check_gradients(
      [](const Variable& x, const Variable& gamma) {
        const Variable y = F::rms_normalization(x, gamma);
        return F::sum(y * y * y);
      },
      uniform({3, 4}, -1, 1), uniform({4}, 0.5, 2, 3));
}

TEST_CASE("arguments that rms_normalization refuses") {
  const Variable x(ones({3, 4}, Dtype::float64, test_device())), gamma(ones({3}, Dtype::float64, test_device()));
  CHECK_THROWS_WITH_AS(F::rms_normalization(x, gamma),
                       doctest::Contains("F::rms_normalization: gamma has shape (3,) and x (3, 4)"), TypeError);
  CHECK_THROWS_WITH_AS(F::rms_normalization(x, gamma, -1), doctest::Contains("F::rms_normalization: eps is -1"),
                       ValueError);
}

}  // namespace kusari::rms_normalization_test
