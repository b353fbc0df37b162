#include "kusari/framework/functions/noise/simplified_dropconnect.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array x() { return array<double>({1, 2, 3, 4}, {2, 2}, test_device()); }
Array W() { return array<double>({1, 10, 100, 1000, 5, 6}, {3, 2}, test_device()); }
Array b() { return array<double>({0.5, 0, 0}, test_device()); }
Array shared_mask() { return array<int32_t>({1, 0, 0, 1, 1, 1}, {3, 2}, test_device()).astype(Dtype::bool_); }
Array batchwise_mask() {
  return array<int32_t>({1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0}, {2, 3, 2}, test_device()).astype(Dtype::bool_);
}

TEST_CASE("simplified_dropconnect with a mask") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const Array x_ = x().astype(dtype), W_ = W().astype(dtype), b_ = b().astype(dtype);
    const Variable shared = F::simplified_dropconnect(x_, W_, b_, {.mask = shared_mask()});
    CHECK(shared.dtype() == dtype);
    check_close(shared, {2, 3}, {2.5, 4000, 34, 6.5, 8000, 78});
    check_close(F::simplified_dropconnect(x_, W_, b_, {.mask = batchwise_mask()}), {2, 3},
                {42.5, 0, 10, 80.5, 2 * 4300, 0});
    check_close(
        F::simplified_dropconnect(x_.reshape({2, 2, 1}), W_, Variable(), {.ratio = 0.75, .mask = batchwise_mask()}),
        {2, 3}, {84, 0, 20, 160, 4 * 4300, 0});
    // Without training a given mask still counts, unscaled.
    check_close(F::simplified_dropconnect(x_, W_, b_, {.train = false, .mask = shared_mask()}), {2, 3},
                {1.5, 2000, 17, 3.5, 4000, 39});
  }
}

TEST_CASE("simplified_dropconnect drops weights") {
  random::seed(1);
  const Variable ones_of(ones({400, 10}, Dtype::float32, test_device()));
  const Variable weights(ones({5, 10}, Dtype::float32, test_device()));
  for (const bool config_train : {true, false}) {  // does not matter
    const auto guard = using_config(&Config::train, config_train);
    for (const bool is_batchwise : {true, false}) {
      CAPTURE(is_batchwise);
      const Variable y =
          F::simplified_dropconnect(ones_of, weights, Variable(), {.ratio = 0.75, .use_batchwise_mask = is_batchwise});
      const std::vector<double> values = y.to_vector<double>();
      double sum = 0;
      bool rows_differ = false;
      for (size_t i = 0; i < values.size(); ++i) {
        CHECK(std::fmod(values[i], 4) == 0);
        sum += values[i];
        rows_differ = rows_differ || values[i] != values[i % 5];
      }
      CHECK(rows_differ == is_batchwise);
      if (is_batchwise) CHECK(sum / 2000 == doctest::Approx(10).epsilon(0.05));
    }
    check_close(F::simplified_dropconnect(x(), W(), b(), {.train = false}), {2, 3},
                F::linear(x(), W(), b()).to_vector<double>());
  }
}

TEST_CASE("gradients of simplified_dropconnect") {
  for (const Array& mask : {shared_mask(), batchwise_mask()}) {
    check_gradients(
        [&](const Variable& v, const Variable& w, const Variable& c) {
          return F::simplified_dropconnect(v, w, c, {.ratio = 0.25, .mask = mask});
        },
        uniform({2, 2}, -1, 1), uniform({3, 2}, -1, 1, 2), uniform({3}, -1, 1, 3));
  }
}

TEST_CASE("simplified_dropconnect with wrong arguments") {
  CHECK_THROWS_WITH_AS(F::simplified_dropconnect(x(), W(), b(), {.ratio = 1}),
                       "F::simplified_dropconnect: ratio 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(F::simplified_dropconnect(x(), W(), b(), {.mask = ones({2, 2}, Dtype::bool_, test_device())}),
                       "F::simplified_dropconnect: mask has shape (2, 2) but W has shape (3, 2): mask.shape[-2] must "
                       "equal W.shape[0] (2 != 3)",
                       TypeError);
  CHECK_THROWS_AS(F::simplified_dropconnect(uniform({2, 3}, 0, 1), W(), b()), TypeError);
  CHECK_THROWS_AS(F::simplified_dropconnect(x(), W(), uniform({2}, 0, 1)), TypeError);
  CHECK_THROWS_AS(F::simplified_dropconnect(int_ones({2, 2}), W()), TypeError);
}

}  // namespace
}  // namespace kusari
