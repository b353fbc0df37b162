#include "kusari/framework/initializers/random_array.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"

using namespace kusari;

namespace {

struct Moments {
  double mean, deviation;
};

Moments moments(const Array& x) {
  const std::vector<double> v = x.to_vector<double>();
  const double n = static_cast<double>(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  const double squares = std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / n;
  return {mean, std::sqrt(squares - mean * mean)};
}

// How far counts are from what is expected of them, as chi square.
double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  return sum;
}

}  // namespace

TEST_CASE("random: arrays of uniform and normal numbers") {
  random::seed(4);
  const int64_t rows = 1000, columns = 100;  // a standard error of the mean is the deviation / 316
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Array u = random::uniform({rows, columns}, {.low = -1, .high = 3, .dtype = dtype});
    CHECK(u.shape() == Shape{rows, columns});
    CHECK(u.dtype() == dtype);
    const auto values = u.to_vector<double>();
    CHECK(*std::min_element(values.begin(), values.end()) >= -1);
    CHECK(*std::max_element(values.begin(), values.end()) <= 3);
    CHECK(moments(u).mean == doctest::Approx(1).epsilon(0.02));
    CHECK(moments(u).deviation == doctest::Approx(4 / std::sqrt(12.0)).epsilon(0.01));  // of a uniform distribution

    const Array n = random::normal({rows, columns}, {.mean = 2, .deviation = 0.5, .dtype = dtype});
    CHECK(n.dtype() == dtype);
    CHECK(moments(n).mean == doctest::Approx(2).epsilon(0.005));
    CHECK(moments(n).deviation == doctest::Approx(0.5).epsilon(0.02));
  }
}

TEST_CASE("random: arrays come from the stream, in config.dtype") {
  random::seed(5);
  const auto first = random::normal({4}).to_vector<float>(), second = random::normal({4}).to_vector<float>();
  CHECK(first != second);
  random::seed(5);
  CHECK(random::normal({4}).to_vector<float>() == first);
  CHECK(random::uniform({2}).dtype() == Dtype::float32);
  {
    const auto wide = using_config(&Config::dtype, DtypePolicy(Dtype::float64));
    CHECK(random::uniform({2}).dtype() == Dtype::float64);
  }
  CHECK(random::uniform({0, 3}).shape() == Shape{0, 3});
  CHECK_THROWS_WITH_AS(random::uniform({2}, {.dtype = Dtype::int32}),
                       "random::uniform: dtype is int32: it must be floating", TypeError);
  CHECK_THROWS_WITH_AS(random::normal({2}, {.dtype = Dtype::uint8}),
                       "random::normal: dtype is uint8: it must be floating", TypeError);
}

TEST_CASE("randint draws every integer as often") {
  random::seed(3);
  const std::vector<int64_t> drawn = random::randint(-2, 3, {10000}).to_vector<int64_t>();
  for (int64_t i = -2; i < 3; ++i) {
    const auto count = std::count(drawn.begin(), drawn.end(), i);
    CAPTURE(i);
    CHECK(count > 1800);  // of 2000, five deviations
    CHECK(count < 2200);
  }
  CHECK(std::all_of(drawn.begin(), drawn.end(), [](int64_t i) { return i >= -2 && i < 3; }));
  CHECK(random::randint(0, 1, {3}).dtype() == Dtype::int32);
  const Array large = random::randint(int64_t{1} << 40, (int64_t{1} << 40) + 5, {100}, {.dtype = Dtype::int64});
  for (const int64_t i : large.to_vector<int64_t>()) CHECK((i >= int64_t{1} << 40 && i < (int64_t{1} << 40) + 5));
  const int64_t high = (int64_t{1} << 60) + 1;  // beyond the whole numbers that doubles hold
  const std::vector<int64_t> above =
      random::randint(high, high + 10, {100}, {.dtype = Dtype::int64}).to_vector<int64_t>();
  CHECK(std::all_of(above.begin(), above.end(), [&](int64_t i) { return i >= high && i < high + 10; }));
  CHECK(std::count(above.begin(), above.end(), above[0]) < 100);
  CHECK_THROWS_WITH_AS(random::randint(0, 1000, {2}, {.dtype = Dtype::int8}),
                       "random::randint: the number 999 does not fit into an array of dtype int8", ValueError);
  CHECK_THROWS_AS(random::randint(-3, 200, {2}, {.dtype = Dtype::uint8}), ValueError);
  random::seed(3);
  CHECK(random::randint(-2, 3, {10000}).to_vector<int64_t>() == drawn);
  CHECK_THROWS_WITH_AS(random::randint(3, 3, {2}),
                       "random::randint: low is 3 but high is 3: high must be greater, by at most 2^32", ValueError);
  CHECK_THROWS_WITH_AS(random::randint(0, 3, {2}, {.dtype = Dtype::float32}),
                       "random::randint: dtype is float32: it must be that of integers", TypeError);
}

TEST_CASE("bernoulli draws ones as often as its probability says") {
  random::seed(6);
  for (const double p : {0.0, 0.1, 0.5, 0.97, 1.0}) {
    CAPTURE(p);
    const Array drawn = random::bernoulli(p, {100, 100});
    CHECK(drawn.shape() == Shape{100, 100});
    CHECK(drawn.dtype() == Dtype::float32);
    const auto values = drawn.to_vector<double>();
    const auto ones = std::count(values.begin(), values.end(), 1.0);
    CHECK(ones + std::count(values.begin(), values.end(), 0.0) == 10000);
    CHECK(std::abs(static_cast<double>(ones) - 10000 * p) <= 5 * std::sqrt(10000 * p * (1 - p)));  // five deviations
  }
  CHECK(random::bernoulli(0.5, {3}, {.dtype = Dtype::bool_}).dtype() == Dtype::bool_);
  CHECK(random::bernoulli(1, {3}, {.dtype = Dtype::int8}).to_vector<int>() == std::vector<int>{1, 1, 1});
  CHECK(random::bernoulli(0.5, {0, 2}).shape() == Shape{0, 2});
  for (const double p : {-0.5, 1.5, std::nan("")}) CHECK_THROWS_AS(random::bernoulli(p, {2}), ValueError);
  CHECK_THROWS_WITH_AS(random::bernoulli(1.5, {2}), "random::bernoulli: p is 1.5: it must be in [0, 1]", ValueError);
}

TEST_CASE("choice with replacement draws each as often as its probability says") {
  random::seed(7);
  const std::vector<double> p = {0.1, 0.2, 0.0, 0.4, 0.3};
  for (const bool is_even : {true, false}) {
    random::ChoiceOptions options;
    if (!is_even) options.p = p;
    const Array drawn = random::choice(5, {100, 100}, options);
    CHECK(drawn.shape() == Shape{100, 100});
    CHECK(drawn.dtype() == Dtype::int64);
    std::vector<double> counts(5), expected(5, 2000);
    for (const int64_t i : drawn.to_vector<int64_t>()) counts.at(static_cast<size_t>(i)) += 1;
    if (!is_even) {
      CHECK(counts[2] == 0);
      counts.erase(counts.begin() + 2);
      expected = {1000, 2000, 4000, 3000};
    }
    CHECK(chi_square(counts, expected) < 18.5);  // 4 degrees of freedom, p = 0.001
  }
}

TEST_CASE("choice without replacement draws each order as often as it should") {
  random::seed(8);
  const std::vector<double> p = {0.5, 0.3, 0.2};
  for (const bool is_even : {true, false}) {
    std::vector<double> counts(6), expected(6, 1000);
    const auto place = [](int64_t first, int64_t second) {
      return static_cast<size_t>(2 * first + second - (second > first ? 1 : 0));
    };
    for (int i = 0; i < 6000; ++i) {
      random::ChoiceOptions options{.replace = false};
      if (!is_even) options.p = p;
      const std::vector<int64_t> pair = random::choice(3, {2}, options).to_vector<int64_t>();
      REQUIRE(pair[0] != pair[1]);
      counts[place(pair[0], pair[1])] += 1;
    }
    // The second in proportion to what is left.
    for (int64_t a = 0; a < 3 && !is_even; ++a) {
      for (int64_t b = 0; b < 3; ++b) {
        const double first = p[static_cast<size_t>(a)], second = p[static_cast<size_t>(b)];
        if (a != b) expected[place(a, b)] = 6000 * first * second / (1 - first);
      }
    }
    CHECK(chi_square(counts, expected) < 20.6);  // 5 degrees of freedom, p = 0.001
  }
  std::vector<int64_t> all = random::choice(1000, {10, 100}, {.replace = false}).to_vector<int64_t>();
  CHECK_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 1000; ++i) {
    if (all[static_cast<size_t>(i)] != i) FAIL_CHECK(i);
  }
}

TEST_CASE("choice of an array draws along its first axis") {
  random::seed(9);
  const Array a = array<float>({0, 1, 10, 11, 20, 21}, {3, 2});
  const Array drawn = random::choice(a, {4, 5});
  CHECK(drawn.shape() == Shape{4, 5, 2});
  CHECK(drawn.dtype() == Dtype::float32);
  random::seed(9);
  const auto places = random::choice(3, {4, 5}).to_vector<int64_t>();
  const auto values = drawn.to_vector<double>();
  for (size_t i = 0; i < places.size(); ++i) {
    CHECK(values[2 * i] == static_cast<double>(10 * places[i]));
    CHECK(values[2 * i + 1] == static_cast<double>(10 * places[i] + 1));
  }
  CHECK(random::choice(array<int8_t>({7}), {3}).to_vector<int>() == std::vector<int>{7, 7, 7});
  CHECK(random::choice(a, {}, {.p = {0, 0, 1}}).to_vector<double>() == std::vector<double>{20, 21});
  CHECK(random::choice(a, {0}).shape() == Shape{0, 2});
  CHECK_THROWS_WITH_AS(random::choice(array(1.5f), {2}),
                       "random::choice: a has shape (): it must have an axis to draw from", TypeError);
  CHECK_THROWS_AS(random::choice(Array(), {2}), TypeError);
}

TEST_CASE("choice with wrong arguments") {
  CHECK_THROWS_WITH_AS(random::choice(0, {2}), "random::choice: n is 0: it must be in [1, 2^32]", ValueError);
  CHECK(random::choice(0, {0}).shape() == Shape{0});
  CHECK(random::choice(3, {2, 0}, {.replace = false, .p = {1, 0, 0}}).shape() == Shape{2, 0});
  CHECK_THROWS_AS(random::choice((int64_t{1} << 32) + 1, {2}), ValueError);
  CHECK_THROWS_WITH_AS(random::choice(3, {2, 2}, {.replace = false}),
                       "random::choice: shape is (2, 2) but n is 3: without replacement there must not be more than n",
                       ValueError);
  CHECK_THROWS_WITH_AS(random::choice(3, {2}, {.p = {0.5, 0.5}}),
                       "random::choice: p has 2 numbers but n is 3: they must be as many", ValueError);
  CHECK_THROWS_WITH_AS(random::choice(2, {2}, {.p = {1.5, -0.5}}), "random::choice: p[0] is 1.5: it must be in [0, 1]",
                       ValueError);
  CHECK_THROWS_AS(random::choice(2, {2}, {.p = {std::nan(""), 0.5}}), ValueError);
  CHECK_THROWS_WITH_AS(random::choice(2, {2}, {.p = {0.5, 0.25}}), "random::choice: the sum of p is 0.75: it must be 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(random::choice(3, {2}, {.replace = false, .p = {1, 0, 0}}),
                       "random::choice: p has 1 numbers above 0: without replacement 2 cannot be drawn", ValueError);
  CHECK_THROWS_AS(random::choice(3, {-1}), ValueError);
}
