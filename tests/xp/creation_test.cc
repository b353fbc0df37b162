#include "kusari/framework/xp/creation.h"

#include <limits>

#include "kusari/framework/core/error.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

TEST_CASE("xp::eye, identity and tri have ones where they should") {
  for (const int64_t n : {0, 1, 3, 5}) {
    for (const int64_t m : {0, 1, 4}) {
      for (const int64_t k : {-6, -1, 0, 2, 7}) {
        std::vector<double> diagonal, triangle;
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < m; ++j) {
            diagonal.push_back(j - i == k);
            triangle.push_back(j - i <= k);
          }
        }
        check_equal(xp::eye(n, {.m = m, .k = k, .device = test_device()}), {n, m}, diagonal);
        check_equal(xp::tri(n, {.m = m, .k = k, .device = test_device()}), {n, m}, triangle);
      }
    }
    CHECK(xp::identity(n).shape() == Shape{n, n});
  }
  CHECK(xp::eye(2).dtype() == Dtype::float32);
  CHECK(xp::identity(2, {.dtype = Dtype::bool_}).dtype() == Dtype::bool_);
  CHECK_THROWS_WITH_AS(xp::eye(-1), "xp::eye: n is -1: it must not be negative", ValueError);
  CHECK_THROWS_AS(xp::eye(int64_t{1} << 40), Error);
}

TEST_CASE("xp::arange counts as NumPy does") {
  check_equal(xp::arange(2, 7), {5}, {2, 3, 4, 5, 6});
  check_equal(xp::arange(3), {3}, {0, 1, 2});
  CHECK(xp::arange(2.5, {.dtype = Dtype::float64}).to_vector<double>() == std::vector<double>{0, 1, 2});
  check_equal(xp::arange(2, 8, 3), {2}, {2, 5});
  check_equal(xp::arange(8, 2, -3), {2}, {8, 5});
  check_equal(xp::arange(8, 2), {0}, std::vector<double>());
  check_equal(xp::arange(3, 3), {0}, std::vector<double>());
  check_equal(xp::arange(0, 1, 0.25, {.device = test_device()}), {4}, {0, 0.25, 0.5, 0.75});
  check_equal(xp::arange(1.0, -0.1, -0.5), {3}, {1, 0.5, 0});
  CHECK(xp::arange(0, 3).dtype() == Dtype::int64);
  CHECK(xp::arange(0, 3.0).dtype() == Dtype::float32);
  CHECK(xp::arange(0, 3, 1, {.dtype = Dtype::uint8}).dtype() == Dtype::uint8);
  const int64_t big = (int64_t{1} << 62) + 1;
  CHECK(xp::arange(big, big + 2).to_vector<int64_t>() == std::vector<int64_t>{big, big + 1});
  // Three steps are more than int64 holds, the last number is not.
  const int64_t least = std::numeric_limits<int64_t>::min(), step = int64_t{1} << 62;
  const std::vector<int64_t> quarters = {least, least + step, 0, step};
  CHECK(xp::arange(least, std::numeric_limits<int64_t>::max(), step).to_vector<int64_t>() == quarters);
  CHECK_THROWS_WITH_AS(xp::arange(0, 3, 0), "xp::arange: step is 0: it must not be 0", ValueError);
  CHECK_THROWS_AS(xp::arange(0, INFINITY), ValueError);
  CHECK_THROWS_AS(xp::arange(0, 1e300, 1e-300), ValueError);
}

TEST_CASE("xp::linspace has both ends, or one") {
  check_equal(xp::linspace(1, 2, 5), {5}, {1, 1.25, 1.5, 1.75, 2});
  check_equal(xp::linspace(1, 2, 4, {.endpoint = false}), {4}, {1, 1.25, 1.5, 1.75});
  check_equal(xp::linspace(3, -1, 3), {3}, {3, 1, -1});
  check_equal(xp::linspace(3, 5, 1), {1}, {3});
  check_equal(xp::linspace(3, 5, 0), {0}, std::vector<double>());
  CHECK(numbers(xp::linspace(0, 0.7, 8, {.dtype = Dtype::float64})).back() == 0.7);
  CHECK_THROWS_AS(xp::linspace(0, 1, -1), ValueError);
}

TEST_CASE("xp::meshgrid in both orders") {
  const Array x = integers({3}, 0, 9), y = integers({2}, 0, 9, 2), z = integers({4}, 0, 9, 3);
  for (const bool ij : {false, true}) {
    const Arrays grids = xp::meshgrid({x, y, z}, {.ij = ij});
    REQUIRE(grids.size() == 3);
    const Shape shape = ij ? Shape{3, 2, 4} : Shape{2, 3, 4};
    std::vector<double> expected[3];
    for (int64_t a = 0; a < shape[0]; ++a) {
      for (int64_t b = 0; b < shape[1]; ++b) {
        for (int64_t c = 0; c < 4; ++c) {
          expected[0].push_back(numbers(x)[static_cast<size_t>(ij ? a : b)]);
          expected[1].push_back(numbers(y)[static_cast<size_t>(ij ? b : a)]);
          expected[2].push_back(numbers(z)[static_cast<size_t>(c)]);
        }
      }
    }
    for (size_t i = 0; i < 3; ++i) check_equal(grids[i], shape, expected[i]);
  }
  CHECK(xp::meshgrid({x})[0].shape() == Shape{3});
  CHECK(xp::meshgrid({array(2.0), x})[0].shape() == Shape{3, 1});
  CHECK_THROWS_AS(xp::meshgrid({integers({2, 2}, 0, 9)}), TypeError);
}

TEST_CASE("xp::diag, diagonal and trace") {
  const Array v = integers({3}, 1, 9), m = integers({3, 4}, 1, 9);
  for (const int64_t k : {-4, -2, 0, 1, 3}) {
    CAPTURE(k);
    const int64_t n = 3 + std::abs(k);
    std::vector<double> expected(static_cast<size_t>(n * n)), taken;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t row = k < 0 ? i - k : i, column = k < 0 ? i : i + k;
      expected[static_cast<size_t>(row * n + column)] = numbers(v)[static_cast<size_t>(i)];
    }
    check_equal(xp::diag(v, k), {n, n}, expected);
    double sum = 0;
    for (int64_t i = 0; i < 3; ++i) {
      if (i + k < 0 || i + k >= 4) continue;
      taken.push_back(numbers(m)[static_cast<size_t>(i * 4 + i + k)]);
      sum += taken.back();
    }
    check_equal(xp::diag(m, k), {static_cast<int64_t>(taken.size())}, taken);
    check_equal(xp::trace(m, {.offset = k}), {}, {sum});
  }
  xp::diagonal(m).fill(0);  // a view
  CHECK(numbers(m)[5] == 0);
  CHECK(xp::trace(integers({2, 3, 3}, 0, 9, 1, Dtype::int8), {.axis1 = 1, .axis2 = 2}).dtype() == Dtype::int64);
  CHECK_THROWS_AS(xp::diag(integers({2, 2, 2}, 0, 1)), TypeError);
  CHECK_THROWS_AS(xp::trace(v), TypeError);
  CHECK_THROWS_AS(xp::diag(Array()), StateError);
}

TEST_CASE("xp::tril and triu of every dtype") {
  for (const Dtype dtype : kAllDtypes) {
    const Array x = integers({2, 3, 4}, 0, 1, 1, dtype);
    for (const int64_t k : {-2, 0, 1}) {
      std::vector<double> low = numbers(x), high = numbers(x);
      for (int64_t i = 0; i < 24; ++i) {
        const int64_t distance = i % 4 - i / 4 % 3;
        if (distance > k) low[static_cast<size_t>(i)] = 0;
        if (distance < k) high[static_cast<size_t>(i)] = 0;
      }
      check_equal(xp::tril(x, k), {2, 3, 4}, low);
      check_equal(xp::triu(x, k), {2, 3, 4}, high);
      CHECK(xp::tril(x).dtype() == dtype);
    }
  }
}
