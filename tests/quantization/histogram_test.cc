#include "kusari/framework/quantization/histogram.h"

#include <cmath>
#include <vector>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using quantization::Histogram;
using quantization::Method;

/// 0, 1, .., n - 1.
Array counted(int64_t n) { return arange(n, Dtype::float32, test_device()); }

TEST_CASE("Histogram: min_max is from the smallest number to the largest of all arrays") {
  Histogram histogram;
  CHECK(histogram.range(quantization::min_max()).high == 0);
  CHECK(histogram.add(zeros({0}, Dtype::float32, test_device()), quantization::min_max()));
  CHECK(histogram.add(on_test_device(array<float>({2, 5})), quantization::min_max()));
  CHECK(histogram.range(quantization::min_max()).low == 2);
  CHECK(histogram.add(on_test_device(array<float>({-1, 4})), quantization::min_max()));
  CHECK(histogram.range(quantization::min_max()).low == -1);
  CHECK(histogram.range(quantization::min_max()).high == 5);
}

TEST_CASE("Histogram: percentile cuts off one half on each side") {
  const Method method = quantization::percentile(90);
  Histogram histogram;
  CHECK(histogram.add(counted(10'000) - 5000, method));
  // 2048 bins reach to 5000.
  CHECK(histogram.range(method).low == doctest::Approx(-4500).epsilon(2 * 5000.0 / 2048 / 4500));
  CHECK(histogram.range(method).high == doctest::Approx(4500).epsilon(2 * 5000.0 / 2048 / 4500));
  CHECK(histogram.range(quantization::percentile(100)).low == -5000);
  CHECK(histogram.range(quantization::percentile(100)).high == 4999);
}

TEST_CASE("Histogram: larger numbers that come later make the bins wider and lose none") {
  const Method method = quantization::percentile(99);
  Histogram growing, at_once;
  CHECK(growing.add(zeros({4}, Dtype::float32, test_device()), method));
  CHECK(growing.add(counted(100) - 50, method));
  CHECK(growing.add(counted(40'000) - 20'000, method));
  CHECK(at_once.add(counted(40'000) - 20'000, method));
  // Bins of a power of two times the first width: at most twice as wide.
  CHECK(growing.range(method).low == doctest::Approx(at_once.range(method).low).epsilon(2e-3));
  CHECK(growing.range(method).high == doctest::Approx(at_once.range(method).high).epsilon(2e-3));
  CHECK(growing.range(method).high == doctest::Approx(19'800).epsilon(2e-3));
}

TEST_CASE("Histogram: entropy leaves out what is far from nearly all numbers") {
  std::vector<float> values;
  for (int i = 0; i < 20'000; ++i) {
    const double u = (i + 0.5) / 20'000;
    values.push_back(static_cast<float>(std::log(u / (1 - u))));  // logistic: mostly within 6
  }
  values.push_back(100);
  Histogram histogram;
  CHECK(histogram.add(on_test_device(array(values)), quantization::entropy()));
  const quantization::ValueRange range = histogram.range(quantization::entropy());
  CHECK(range.high < 30);
  CHECK(range.high > 4);
  CHECK(range.low < -4);
  CHECK(histogram.extremes().high == 100);

  // Evenly spread numbers: every one is needed.
  Histogram even;
  CHECK(even.add(counted(100'000), quantization::entropy()));
  CHECK(even.range(quantization::entropy()).high > 0.95 * 99'999);
  CHECK(even.range(quantization::entropy()).low == 0);
}

TEST_CASE("Histogram: refuses what has no range") {
  Histogram histogram;
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK_FALSE(histogram.add(on_test_device(array<double>({1, bad})), quantization::min_max()));
  }
  CHECK(histogram.add(counted(3), quantization::min_max()));
  CHECK(histogram.range(quantization::min_max()).high == 2);
}

TEST_CASE("percentile: errors") {
  CHECK_THROWS_WITH_AS(quantization::percentile(50),
                       "quantization::percentile: percent is 50: it must be above 50 and at most 100", ValueError);
  CHECK_THROWS_AS(quantization::percentile(100.5), ValueError);
  CHECK_THROWS_AS(quantization::percentile(std::nan("")), ValueError);
}

}  // namespace
}  // namespace kusari
