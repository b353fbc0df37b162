#include "kusari/framework/datasets/synthetic_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"

using namespace kusari;
using namespace kusari::datasets;

namespace {

std::vector<double> points(const TupleDataset& data) { return data.arrays()[0].to_vector<double>(); }
std::vector<int> labels(const TupleDataset& data) { return data.arrays()[1].to_vector<int>(); }

}  // namespace

TEST_CASE("make_moons: two half circles") {
  const TupleDataset moons = make_moons({.n = 5, .shuffle = false});
  CHECK(moons[0][0].dtype() == Dtype::float32);
  CHECK(moons[0][0].shape() == Shape{2});
  CHECK(moons[0][1].dtype() == Dtype::int32);
  CHECK(labels(moons) == std::vector<int>{0, 0, 1, 1, 1});
  const std::vector<double> expected = {1, 0, -1, 0, 0, 0.5, 1, -0.5, 2, 0.5}, x = points(moons);
  for (size_t i = 0; i < 10; ++i) CHECK(x[i] == doctest::Approx(expected[i]).epsilon(1e-6).scale(1));
  const TupleDataset shuffled = make_moons({.n = 1000, .seed = 1});
  CHECK(std::is_sorted(labels(shuffled).begin(), labels(shuffled).end()) == false);
  const std::vector<double> p = points(shuffled);
  const std::vector<int> t = labels(shuffled);
  CHECK(std::count(t.begin(), t.end(), 0) == 500);
  for (size_t i = 0; i < 1000; ++i) {
    // On the circle of the class, and on the right half of it.
    const double u = t[i] == 0 ? p[2 * i] : 1 - p[2 * i], v = t[i] == 0 ? p[2 * i + 1] : 0.5 - p[2 * i + 1];
    CHECK(std::hypot(u, v) == doctest::Approx(1).epsilon(1e-6));
    CHECK(v > -1e-6);
  }
  for (const int64_t n : {0, 1, 2}) CHECK(make_moons({.n = n}).size() == n);
}

TEST_CASE("make_moons: noise has its deviation") {
  const TupleDataset exact = make_moons({.n = 20000, .seed = 4}),
                     noisy = make_moons({.n = 20000, .noise = 0.3, .seed = 4});
  const std::vector<double> x = points(exact), y = points(noisy);
  CHECK(labels(exact) == labels(noisy));
  double sum = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += y[i] - x[i];
    squares += (y[i] - x[i]) * (y[i] - x[i]);
  }
  // Of 40,000 numbers the mean deviates by 0.0015 and the deviation by 0.35 %: five times that.
  CHECK(std::abs(sum / 40000) < 0.0075);
  CHECK(std::sqrt(squares / 40000) == doctest::Approx(0.3).epsilon(0.0177));
}

TEST_CASE("make_blobs: points around centers") {
  const Array centers = array<float>({0, 0, 0, 50, -50, 100}, {2, 3});
  const TupleDataset blobs = make_blobs({.n = 10001, .centers = centers, .deviation = 2, .seed = 7});
  CHECK(blobs[0][0].shape() == Shape{3});
  const std::vector<double> x = points(blobs);
  const std::vector<int> t = labels(blobs);
  CHECK(std::count(t.begin(), t.end(), 0) == 5001);
  double sums[2][3] = {}, squares = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    for (size_t k = 0; k < 3; ++k) {
      const double off = x[3 * i + k] - centers.to_vector<double>()[3 * static_cast<size_t>(t[i]) + k];
      sums[t[i]][k] += off;
      squares += off * off;
    }
  }
  // Means deviate by 2 / sqrt(5000) = 0.028, the deviation by 0.41 %: five times that.
  for (const auto& of_class : sums) {
    for (const double sum : of_class) CHECK(std::abs(sum / 5000) < 0.14);
  }
  CHECK(std::sqrt(squares / (3 * 10001)) == doctest::Approx(2).epsilon(0.0205));
  CHECK(labels(make_blobs({.n = 8, .classes = 3, .shuffle = false})) == std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2});
  CHECK(labels(make_blobs({.n = 2, .classes = 3, .shuffle = false})) == std::vector<int>{0, 1});
  const std::vector<double> drawn = points(make_blobs({.n = 400, .classes = 400, .box = 3, .deviation = 0}));
  CHECK(*std::min_element(drawn.begin(), drawn.end()) < -2.9);
  CHECK(*std::max_element(drawn.begin(), drawn.end()) > 2.9);
  CHECK(std::all_of(drawn.begin(), drawn.end(), [](double v) { return std::abs(v) <= 3; }));
}

TEST_CASE("synthetic points: the seed decides, not the threads") {
  const auto moons = [](uint64_t seed) { return points(make_moons({.n = 5000, .noise = 0.1, .seed = seed})); };
  const auto blobs = [](uint64_t seed) { return points(make_blobs({.n = 5000, .seed = seed})); };
  const std::vector<double> all_moons = moons(3), all_blobs = blobs(3);
  const int threads = num_threads();
  for (const int n : {1, 3}) {
    set_num_threads(n);
    CHECK(moons(3) == all_moons);
    CHECK(blobs(3) == all_blobs);
  }
  set_num_threads(threads);
  CHECK(moons(4) != all_moons);
  CHECK(blobs(4) != all_blobs);
}

TEST_CASE("synthetic points: options that make no sense") {
  CHECK_THROWS_WITH_AS(make_moons({.n = -1}), "make_moons: n is -1: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(make_moons({.noise = -1}), "make_moons: noise is -1: it must be finite and not negative",
                       ValueError);
  CHECK_THROWS_WITH_AS(make_blobs({.classes = 0}), "make_blobs: classes is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(make_blobs({.features = -2}), "make_blobs: features is -2: it must be positive", ValueError);
  CHECK_THROWS_AS(make_blobs({.box = std::numeric_limits<double>::infinity()}), ValueError);
  CHECK_THROWS_WITH_AS(
      make_blobs({.centers = zeros({3})}),
      "make_blobs: centers has dtype float32 and shape (3,): it must be numbers of the shape (classes, features)",
      TypeError);
  CHECK_THROWS_AS(make_blobs({.centers = zeros({0, 2})}), ValueError);
}
