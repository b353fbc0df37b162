#include "kusari/framework/functions/noise/dropout.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("dropout drops and scales") {
  random::seed(1);
  for (const Dtype dtype : kFloatingDtypes) {
    for (const double ratio : {0.0, 0.5, 0.75}) {
      const Variable x(full({100, 100}, 3, dtype, test_device()));
      Array mask;
      const Variable y = F::dropout(x, ratio, {.return_mask = &mask});
      CHECK(y.dtype() == dtype);
      int dropped = 0, kept = 0;
      for (const double v : y.to_vector<double>()) {
        dropped += v == 0 ? 1 : 0;
        kept += v == 3 / (1 - ratio) ? 1 : 0;
      }
      CHECK(dropped + kept == 10000);
      // A binomial count of 10000 draws has a standard deviation of at most 50.
      CHECK(dropped == doctest::Approx(10000 * ratio).epsilon(0.03));
      CHECK(gradient(y, x) == mask.to_vector<double>());
    }
  }
}

TEST_CASE("dropout's numbers follow the seed") {
  const Array x = ones({50}, Dtype::float32, test_device());
  random::seed(7);
  const std::vector<float> first = F::dropout(x).to_vector<float>(), second = F::dropout(x).to_vector<float>();
  random::seed(7);
  CHECK(F::dropout(x).to_vector<float>() == first);
  CHECK(first != second);
}

TEST_CASE("dropout with a mask") {
  const Array mask = array<double>({0, 2, 1}, test_device()), x = uniform({3}, -1, 1);
  const std::vector<double> values = x.to_vector<double>();
  check_close(F::dropout(x, 0.5, {.mask = mask}), {3}, {0, 2 * values[1], values[2]});
  check_gradients([&](const Variable& v) { return F::dropout(v, 0.5, {.mask = mask}); }, x);
  CHECK_THROWS_WITH_AS(F::dropout(x, 0.5, {.mask = ones({2}, Dtype::float32, test_device())}),
                       "F::dropout: mask has shape (2,) but x has shape (3,): mask.shape must equal x.shape",
                       TypeError);
}

TEST_CASE("dropout does nothing outside training") {
  const auto guard = using_config(&Config::train, false);
  const Variable x(ones({3}, Dtype::float32, test_device()));
  Array mask = ones({3}, Dtype::float32, test_device());
  CHECK(is_same(F::dropout(x, 0.5, {.return_mask = &mask}), x));
  CHECK_FALSE(mask.is_defined());
}

TEST_CASE("dropout with a wrong ratio or dtype") {
  CHECK_THROWS_WITH_AS(F::dropout(ones({3}, Dtype::float32, test_device()), 1.0),
                       "F::dropout: ratio 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_AS(F::dropout(ones({3}, Dtype::float32, test_device()), -0.1), ValueError);
  CHECK_THROWS_WITH_AS(F::dropout(int_ones({3})), "F::dropout: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
