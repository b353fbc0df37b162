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
