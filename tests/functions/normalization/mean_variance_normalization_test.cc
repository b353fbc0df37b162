#include "kusari/framework/functions/normalization/mean_variance_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/properties/naive.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("mean_variance_normalization: the formula along any axes") {
  const Shape shape{2, 3, 4, 5};
  const std::vector<std::vector<int64_t>> cases = {{0, 2, 3}, {1}, {-1, 0}, {0, 1, 2, 3}};
  for (const std::vector<int64_t>& axes : cases) {
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(shape, -1, 2).astype(dtype);
      const Reference values{shape, x.to_vector<double>()};
      const Reference mean = naive::reduce(values, axes, true, [](const Values& v) { return naive::mean(v); });
      const Reference deviation = naive::reduce(values, axes, true, [](const Values& v) {
        const double m = naive::mean(v);
        double total = 0;
        for (const double each : v) total += (each - m) * (each - m);
        return std::sqrt(total / static_cast<double>(v.size()));
      });
      const Reference expected =
          naive::map([](double v, double m, double d) { return (v - m) / (d + 0.25); }, values, mean, deviation);
      const Variable y = F::mean_variance_normalization(x, Axes(std::span<const int64_t>(axes)), 0.25);
      CHECK(y.dtype() == dtype);
      check_close(y, shape, expected.values, 4);
    }
  }
  const Array x = uniform(shape, -1, 2);
  check_close(F::mean_variance_normalization(x), shape,
              F::mean_variance_normalization(x, {3, 2, 0}, 1e-9).to_vector<double>());
  check_gradients(
      [](const Variable& v) {
        return F::mean_variance_normalization(v, {0, 2});
      },
      uniform({2, 3, 4}, -1, 1));
}

TEST_CASE("mean_variance_normalization's errors") {
  CHECK_THROWS_AS(F::mean_variance_normalization(ones({2, 3})), IndexError);
  CHECK_THROWS_AS(F::mean_variance_normalization(ones({2, 3}), {0, 0}), ValueError);
  CHECK_THROWS_WITH_AS(F::mean_variance_normalization(ones({2, 3}), 0, -1),
                       "F::mean_variance_normalization: eps is -1: it must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(F::mean_variance_normalization(int_ones({2, 3}), 0),
                       "F::mean_variance_normalization: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
