#include "kusari/framework/xp/counting.h"

#include <limits>

#include "kusari/framework/core/error.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

TEST_CASE("xp::bincount counts numbers or sums weights") {
  for (const Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int32, Dtype::int64}) {
    const Array x = integers({50}, 0, dtype == Dtype::bool_ ? 1 : 6, 1, dtype), w = reals({50}, -1, 1);
    std::vector<double> counts(8), sums(8);
    for (size_t i = 0; i < 50; ++i) {
      ++counts[static_cast<size_t>(numbers(x)[i])];
      sums[static_cast<size_t>(numbers(x)[i])] += numbers(w)[i];
    }
    check_equal(xp::bincount(x, {.minlength = 8}), {8}, counts);
    check_equal(xp::bincount(x, {.weights = w, .minlength = 8}), {8}, sums, 1e-14);
  }
  CHECK(xp::bincount(array<int64_t>({3, 1}, test_device())).shape() == Shape{4});
  CHECK(xp::bincount(zeros({0}, Dtype::int32, test_device())).shape() == Shape{0});
  const Array halves = ones({3000}, Dtype::float16, test_device());  // summed in float32
  CHECK(xp::bincount(zeros({3000}, Dtype::int32, test_device()), {.weights = halves}).item<double>() == 3000);
  CHECK_THROWS_AS(xp::bincount(array<int64_t>({-1})), ValueError);
  CHECK_THROWS_AS(xp::bincount(array<double>({1})), TypeError);
  CHECK_THROWS_AS(xp::bincount(array<int64_t>({1}), {.weights = ones({2})}), TypeError);
}

TEST_CASE("xp::histogram puts each number in one part") {
  const Array x = reals({40, 5}, -2, 3);
  for (const int64_t bins : {1, 4, 7}) {
    const xp::Histogram h = xp::histogram(x, bins, std::pair{-1.0, 2.0});
    std::vector<double> counts(static_cast<size_t>(bins));
    const std::vector<double> edges = numbers(h.edges);
    REQUIRE(edges.size() == counts.size() + 1);
    for (const double v : numbers(x)) {
      for (size_t i = 0; i < counts.size(); ++i) {
        if (v >= edges[i] && (v < edges[i + 1] || (i + 1 == counts.size() && v == edges[i + 1]))) ++counts[i];
      }
    }
    check_equal(h.counts, {bins}, counts);
  }
  const xp::Histogram all = xp::histogram(array<int64_t>({1, 2, 1, 4}), 3);
  check_equal(all.counts, {3}, {2, 1, 1});
  check_equal(all.edges, {4}, {1, 2, 3, 4});
  check_equal(xp::histogram(array<double>({2, 2}), 2).edges, {3}, {1.5, 2, 2.5});
  check_equal(xp::histogram(zeros({0}), 2).edges, {3}, {0, 0.5, 1});
  check_equal(xp::histogram(array<double>({0, 1, 5, NAN, 9}), array<double>({0, 1, 5})).counts, {2}, {1, 2});
  CHECK_THROWS_AS(xp::histogram(array<double>({1, NAN})), ValueError);
  CHECK_THROWS_AS(xp::histogram(x, 0), ValueError);
  CHECK_THROWS_AS(xp::histogram(x, std::numeric_limits<int64_t>::max()), ValueError);
  CHECK_THROWS_AS(xp::histogram(x, 3, std::pair{1.0, 0.0}), ValueError);
  CHECK_THROWS_AS(xp::histogram(x, array<double>({1, 0})), ValueError);
  CHECK_THROWS_AS(xp::histogram(x, array<double>({1})), TypeError);
}

TEST_CASE("xp::cumsum, cumprod, diff and count_nonzero") {
  const Array x = array<int32_t>({1, 2, 3, 4, 0, 6}, {2, 3}, test_device());
  check_equal(xp::cumsum(x), {6}, {1, 3, 6, 10, 10, 16});
  check_equal(xp::cumsum(x, 0), {2, 3}, {1, 2, 3, 5, 2, 9});
  check_equal(xp::cumprod(x, 1), {2, 3}, {1, 2, 6, 4, 0, 0});
  CHECK(xp::cumsum(x).dtype() == Dtype::int64);
  check_equal(xp::diff(x), {2, 2}, {1, 1, -4, 6});
  check_equal(xp::diff(x, 2), {2, 1}, {0, 10});
  check_equal(xp::diff(x, 1, 0), {1, 3}, {3, -2, 3});
  CHECK(xp::diff(x, 5).shape() == Shape{2, 0});
  check_equal(xp::diff(array<bool>({true, true, false})), {2}, {0, 1});
  check_equal(xp::count_nonzero(x), {}, {5});
  check_equal(xp::count_nonzero(x, 0), {3}, {2, 1, 2});
  CHECK_THROWS_AS(xp::diff(x, -1), ValueError);
  CHECK_THROWS_AS(xp::cumsum(x, 2), IndexError);
}

TEST_CASE("xp::var and std") {
  const Array x = reals({4, 5}, -1, 3);
  const std::vector<double> v = numbers(x);
  std::vector<double> expected;
  for (size_t j = 0; j < 5; ++j) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < 4; ++i) mean += v[5 * i + j] / 4;
    for (size_t i = 0; i < 4; ++i) squares += (v[5 * i + j] - mean) * (v[5 * i + j] - mean);
    expected.push_back(squares / 3);
  }
  check_equal(xp::var(x, {.axis = 0, .ddof = 1}), {5}, expected, 1e-14);
  for (double& e : expected) e = std::sqrt(e);
  check_equal(xp::std(x, {.axis = 0, .ddof = 1, .keepdims = true}), {1, 5}, expected, 1e-14);
  CHECK(xp::var(array<int64_t>({1, 3})).item<double>() == 1);
  CHECK(std::isnan(xp::var(array<double>({1}), {.ddof = 1}).item<double>()));
  CHECK(xp::var(array<double>({1, 3}), {.ddof = std::numeric_limits<int64_t>::min()}).item<double>() ==
        doctest::Approx(0));
}
