#include "kusari/framework/initializers/initializer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/initializers/glorot.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/initializers/lecun.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/orthogonal.h"
#include "kusari/framework/initializers/sampling.h"
#include "kusari/framework/initializers/uniform.h"

namespace kusari::testing {
namespace {

using initializers::generate_array;

TEST_CASE("numbers, arrays, objects and callables are initializers") {
  CHECK(generate_array(2.5, {2}).to_vector<double>() == std::vector<double>{2.5, 2.5});
  CHECK(generate_array(array<float>({1, 2}), {2, 2}).to_vector<double>() == std::vector<double>{1, 2, 1, 2});
  CHECK(generate_array([](const Array& a) { a.fill(7); }, {1}).item<double>() == 7);
  CHECK(generate_array(initializers::Zero(), {1}).item<double>() == 0);
  CHECK(generate_array(initializers::One(), {1}).item<double>() == 1);
  CHECK(std::isnan(generate_array(initializers::NaN(), {1}).item<double>()));
  CHECK(generate_array(initializers::Identity(2), {2, 2}).to_vector<double>() == std::vector<double>{2, 0, 0, 2});
  CHECK_THROWS_AS(generate_array(initializers::Identity(), {2, 3}), ValueError);
  CHECK(!Initializer());
  CHECK(Initializer(0));
}

TEST_CASE("the dtype of a new array") {
  CHECK(generate_array(1, {1}).dtype() == Dtype::float32);
  CHECK(generate_array(1, {1}, Dtype::float64).dtype() == Dtype::float64);
  const Initializer narrow = initializers::Normal(1, Dtype::float16);
  CHECK(generate_array(narrow, {1}).dtype() == Dtype::float16);
  CHECK(generate_array(narrow, {1}, Dtype::float16).dtype() == Dtype::float16);
  CHECK_THROWS_WITH_AS(generate_array(narrow, {1}, Dtype::float64),
                       "generate_array: dtype is float64 but the initializer has dtype float16", ValueError);
  const auto guard = using_config(&Config::dtype, mixed16);
  CHECK(generate_array(1, {1}).dtype() == Dtype::float16);
}

TEST_CASE("fans") {
  CHECK(initializers::get_fans({4, 3}).in == 3);
  CHECK(initializers::get_fans({4, 3}).out == 4);
  CHECK(initializers::get_fans({4, 3, 5, 2}).in == 30);
  CHECK(initializers::get_fans({4, 3, 5, 2}).out == 40);
  CHECK_THROWS_WITH_AS(initializers::get_fans({4}), "get_fans: shape is (4,) but must have 2 axes or more", ValueError);
  CHECK_THROWS_AS(initializers::get_fans({4, 3, int64_t{1} << 62, 2}), ValueError);
}

TEST_CASE("random initializers have the moments of their definitions") {
  struct Case {
    const char* name;
    Initializer initializer;
    double deviation;
    bool uniform;
  };
  const double in = 300, out = 400;
  for (const Case& c : {
           Case{"default", {}, std::sqrt(1 / in), false},
           {"LeCunNormal", initializers::LeCunNormal(2), 2 * std::sqrt(1 / in), false},
           {"LeCunUniform", initializers::LeCunUniform(), std::sqrt(1 / in), true},
           {"GlorotNormal", initializers::GlorotNormal(), std::sqrt(2 / (in + out)), false},
           {"GlorotUniform", initializers::GlorotUniform(3), 3 * std::sqrt(2 / (in + out)), true},
           {"HeNormal", initializers::HeNormal(), std::sqrt(2 / in), false},
           {"HeNormal fan_out", initializers::HeNormal(1, initializers::FanOption::fan_out), std::sqrt(2 / out), false},
           {"HeUniform", initializers::HeUniform(), std::sqrt(2 / in), true},
           {"Normal", initializers::Normal(), 0.05, false},
           {"Uniform", initializers::Uniform(), 0.05 / std::sqrt(3.0), true},
       }) {
    CAPTURE(c.name);
    random::seed(1);
    const std::vector<double> values = generate_array(c.initializer, {400, 300}).to_vector<double>();
    double sum = 0, squares = 0, largest = 0;
    for (const double v : values) {
      sum += v;
      squares += v * v;
      largest = std::max(largest, std::abs(v));
    }
    const double n = static_cast<double>(values.size());
    CHECK(std::abs(sum / n) < 5 * c.deviation / std::sqrt(n));
    CHECK(std::sqrt(squares / n) == doctest::Approx(c.deviation).epsilon(0.01));
    // A uniform distribution ends at sqrt(3) deviations; of so many normal draws some lie beyond 4.
    CHECK((largest <= std::sqrt(3.0) * c.deviation * 1.000001) == c.uniform);
    CHECK((largest > 4 * c.deviation) == !c.uniform);
  }
}

TEST_CASE("a seed gives the same numbers") {
  random::seed(3);
  const std::vector<float> first = generate_array({}, {4, 5}).to_vector<float>();
  const std::vector<float> second = generate_array({}, {4, 5}).to_vector<float>();
  random::seed(3);
  CHECK(generate_array({}, {4, 5}).to_vector<float>() == first);
  CHECK(first != second);
}

TEST_CASE("Orthogonal") {
  struct Case {
    Shape shape;
    int64_t rows, columns;
  };
  for (const Case& c : {Case{{3, 5}, 3, 5}, {{6, 4}, 6, 4}, {{4, 3, 2, 2}, 4, 12}, {{1, 1}, 1, 1}}) {
    CAPTURE(c.rows);
    const std::vector<double> w =
        generate_array(initializers::Orthogonal(2), c.shape, Dtype::float64).to_vector<double>();
    const bool wide = c.rows <= c.columns;
    const int64_t n = wide ? c.rows : c.columns, length = wide ? c.columns : c.rows;
    const auto at = [&](int64_t vector, int64_t i) {
      return w[static_cast<size_t>(wide ? vector * c.columns + i : i * c.columns + vector)];
    };
    for (int64_t a = 0; a < n; ++a) {
      for (int64_t b = 0; b < n; ++b) {
        double dot = 0;
        for (int64_t i = 0; i < length; ++i) dot += at(a, i) * at(b, i);
        CHECK(dot == doctest::Approx(a == b ? 4 : 0).epsilon(1e-12).scale(1));
      }
    }
  }
  using initializers::OrthogonalMode;
  CHECK_THROWS_AS(generate_array(initializers::Orthogonal(1, OrthogonalMode::embedding), {3, 5}), ValueError);
  CHECK_THROWS_AS(generate_array(initializers::Orthogonal(1, OrthogonalMode::projection), {5, 3}), ValueError);
  CHECK_THROWS_AS(generate_array(initializers::Orthogonal(1, OrthogonalMode::basis), {5, 3}), ValueError);
  CHECK_THROWS_AS(generate_array(initializers::Orthogonal(), {0, 3}), ValueError);
  CHECK(std::abs(generate_array(initializers::Orthogonal(), {}).item<float>()) == 1.1f);
}

TEST_CASE("filters that resize images") {
  const std::vector<double> pyramid = {0.25, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 0.25};
  CHECK(generate_array(initializers::UpsamplingDeconvFilter(), {1, 1, 3, 3}).to_vector<double>() == pyramid);
  const std::vector<double> line =
      generate_array(initializers::DownsamplingConvFilter(), {2, 2, 4}, Dtype::float64).to_vector<double>();
  CHECK(line == std::vector<double>{0.125, 0.375, 0.375, 0.125, 0, 0, 0, 0, 0, 0, 0, 0, 0.125, 0.375, 0.375, 0.125});
  for (const Shape& shape : {Shape{2, 3, 3, 3}, Shape{2, 2, 3, 4}, Shape{2, 2}}) {
    CHECK_THROWS_AS(generate_array(initializers::UpsamplingDeconvFilter(), shape), ValueError);
  }
  const Shape none = {int64_t{1} << 32, 1, 0};  // ends at once
  CHECK(generate_array(initializers::UpsamplingDeconvFilter(), none).shape() == none);
}

}  // namespace
}  // namespace kusari::testing
