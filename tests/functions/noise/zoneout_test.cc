#include "kusari/framework/functions/noise/zoneout.h"

#include <limits>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("zoneout keeps elements at random") {
  random::seed(1);
  for (const Dtype dtype : kFloatingDtypes) {
    for (const double ratio : {0.0, 0.3, 1.0}) {
      const Variable h(full({100, 100}, std::numeric_limits<double>::infinity(), dtype, test_device()));
      const Variable x(full({100, 100}, 2, dtype, test_device()));
      const Variable y = F::zoneout(h, x, ratio);
      CHECK(y.dtype() == dtype);
      int kept = 0, fresh = 0;
      for (const double v : y.to_vector<double>()) {
        kept += std::isinf(v) ? 1 : 0;
        fresh += v == 2 ? 1 : 0;
      }
      CHECK(kept + fresh == 10000);
      // A binomial count of 10000 draws has a standard deviation of at most 50.
      CHECK(std::abs(kept - 10000 * ratio) <= (ratio == 0.3 ? 200 : 0));
      const std::vector<double> gh = gradient(y, h), gx = gradient(y, x), values = y.to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i) {
        if (gh[i] != (values[i] == 2 ? 0 : 1) || gx[i] != 1 - gh[i]) FAIL_CHECK("gradient at " << i);
      }
    }
  }
}

TEST_CASE("gradients of zoneout") {
  const auto zoneout = [](const Variable& h, const Variable& x) {
    const random::LocalStream stream(7);
    return F::zoneout(h, x, 0.4);
  };
  check_gradients(zoneout, uniform({3, 4}, -1, 1), uniform({3, 4}, -1, 1, 2));
}

TEST_CASE("zoneout does nothing outside training") {
  const auto guard = using_config(&Config::train, false);
  const Variable x(ones({3}, Dtype::float32, test_device()));
  CHECK(is_same(F::zoneout(-x, x), x));
}

TEST_CASE("zoneout with wrong arguments") {
  const Variable x(ones({3}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(F::zoneout(x, x, 1.5), "F::zoneout: ratio 1.5 must be in [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(F::zoneout(ones({2}, Dtype::float32, test_device()), x),
                       "F::zoneout: h has shape (2,) but x has shape (3,): h.shape must equal x.shape", TypeError);
  CHECK_THROWS_AS(F::zoneout(ones({3}, Dtype::float64, test_device()), x), TypeError);
  CHECK_THROWS_AS(F::zoneout(int_ones({3}), int_ones({3})), TypeError);
}

}  // namespace
}  // namespace kusari
