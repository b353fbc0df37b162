#include "kusari/framework/functions/attention/rotary_embedding.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::rotary_test {
namespace {
using namespace testing;

// Turned rows, from the numbers of x in C order.
std::vector<double> turned(const Variable& x, const F::RotaryOptions& options) {
  const std::vector<double> in = x.to_vector<double>();
  std::vector<double> out(in.size());
  if (in.empty()) return out;
  const auto width = static_cast<size_t>(x.array().shape(-1)), times = static_cast<size_t>(x.array().shape(-2));
  const size_t half = width / 2;
  for (size_t row = 0; row < in.size() / width; ++row) {
    const double place = static_cast<double>(row % times) + static_cast<double>(options.first);
    for (size_t i = 0; i < half; ++i) {
      const double angle = place * std::pow(options.base, -static_cast<double>(i) / static_cast<double>(half));
      const size_t a = width * row + (options.interleaved ? 2 * i : i);
      const size_t b = width * row + (options.interleaved ? 2 * i + 1 : i + half);
      out[a] = in[a] * std::cos(angle) - in[b] * std::sin(angle);
      out[b] = in[a] * std::sin(angle) + in[b] * std::cos(angle);
    }
  }
  return out;
}
}  // namespace

TEST_CASE("rotary_embedding turns pairs by their place") {
  for (const bool interleaved : {false, true}) {
    CAPTURE(interleaved);
    const F::RotaryOptions options{.first = 7, .base = 100, .interleaved = interleaved};
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      for (const Shape& shape : {Shape{2, 3, 5, 6}, Shape{4, 8}, Shape{1, 2}, Shape{3, 2, 16}, Shape{2, 1, 3, 22},
                                 Shape{5, 7, 64}, Shape{0, 3, 4}, Shape{3, 0}, Shape{0, 1, 2}}) {
        CAPTURE(shape);
        const Variable x(uniform(shape, -1, 1).astype(dtype));
        const Variable y = F::rotary_embedding(x, options);
        CHECK(y.dtype() == dtype);
        check_close(y.array(), shape, turned(x, options), 4);
      }
    }
    check_gradients(
        [&](const Variable& x) {
          const Variable y = F::rotary_embedding(x, {.interleaved = interleaved});
          return F::sum(y * y * y);
        },
        uniform({2, 3, 4}, -1, 1));
  }
}

TEST_CASE("rotary_embedding of heads that lie beside each other, and of other strides") {
  for (const bool interleaved : {false, true}) {
    const F::RotaryOptions options{.first = 3, .interleaved = interleaved};
    for (const Dtype dtype : kFloatingDtypes) {
      const Array rows = uniform({2, 5, 3, 8}, -1, 1).astype(dtype);
      const Array every_second = uniform({2, 5, 16}, -1, 1).astype(dtype).slice(2, 0, 8, 2);
      const Array late = uniform({2, 5, 9}, -1, 1).astype(dtype).slice(2, 1, 8);
      const Array backwards = uniform({5, 4}, -1, 1).astype(dtype).slice(0, 4, 5, -1);
      for (const Array& x : {rows.transpose({0, 2, 1, 3}), rows.transpose(), every_second, late, backwards,
                             rows.slice(1, 0, 1).broadcast_to(rows.shape())}) {
        CAPTURE(x.shape());
        check_close(F::rotary_embedding(Variable(x), options).array(), x.shape(), turned(Variable(x), options), 4);
      }
    }
  }
}

TEST_CASE("rotary_embedding computes half types in float32") {
  const Array x = uniform({3, 40, 32}, -1, 1).astype(Dtype::bfloat16);
  const Array y = F::rotary_embedding(Variable(x), {.first = 100}).array();
  const Array wide = F::rotary_embedding(Variable(x.astype(Dtype::float32)), {.first = 100}).array();
  CHECK(y.to_vector<double>() == wide.astype(Dtype::bfloat16).to_vector<double>());
}

TEST_CASE("rotary_embedding of any places in any order") {
  const auto check = [](const Array& x, const F::RotaryOptions& options) {
    CAPTURE(options.first);
    CAPTURE(options.base);
    check_close(F::rotary_embedding(Variable(x), options).array(), x.shape(), turned(Variable(x), options), 4);
  };
  const Array one = uniform({2, 1, 6}, -1, 1), many = uniform({300, 6}, -1, 1);
  // Its tables grow, are asked for again, and are too large to be kept.
  for (const int64_t first : {0, 1, 2, 63, 64, 5, 130, 3000, 0, 10'000'000}) {
    check(one, {.first = first});
    check(many, {.first = first});
  }
  // More angles than are kept, twice.
  for (int i = 0; i < 24; ++i) check(one, {.first = i, .base = 10.0 + i % 12});
  // A place that no table reaches; the angles of doubles that large mean nothing.
  const Array far = F::rotary_embedding(Variable(one), {.first = std::numeric_limits<int64_t>::max()}).array();
  CHECK(far.shape() == one.shape());
}

TEST_CASE("rotary_embedding of models that went on from shorter texts") {
  // In 100 places the pairs turn 15.9, 3.56, 0.80, ... times: the first is left as it is, the second slowed in part.
  const double share = (100 * std::pow(500, -1.0 / 4) / (2 * M_PI) - 1) / 3;
  const double llama3[] = {1, share + (1 - share) / 8, 1.0 / 8, 1.0 / 8}, linear[] = {0.25, 0.25, 0.25, 0.25};
  const auto check = [](const F::RotaryScaling& scaling, const double* slower) {
    const Variable x(uniform({40, 8}, -1, 1));
    std::vector<double> expected(320);
    const std::vector<double> in = x.to_vector<double>();
    for (size_t t = 0; t < 40; ++t) {
      for (size_t i = 0; i < 4; ++i) {
        const double angle = static_cast<double>(t + 90) * std::pow(500, -static_cast<double>(i) / 4) * slower[i];
        const double a = in[8 * t + i], b = in[8 * t + i + 4];
        expected[8 * t + i] = a * std::cos(angle) - b * std::sin(angle);
        expected[8 * t + i + 4] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
    const auto rotated = [&](const Variable& v) {
      return F::rotary_embedding(v, {.first = 90, .base = 500, .scaling = scaling});
    };
    check_close(rotated(x), {40, 8}, expected, 4);
    check_gradients([&](const Variable& v) { return F::sum(rotated(v) * rotated(v) * rotated(v)); },
                    uniform({2, 8}, -1, 1));
  };
  // Tables of other angles are kept apart.
  for (int round = 0; round < 2; ++round) {
    check({.factor = 8, .trained = 100}, llama3);
    check({.factor = 4}, linear);
  }
}

TEST_CASE("rotary_embedding: the gradient turns back") {
  for (const bool interleaved : {false, true}) {
    const F::RotaryOptions options{.first = 11, .interleaved = interleaved};
    const Variable x(uniform({2, 9, 10}, -1, 1));
    const Variable y = F::rotary_embedding(x, options);
    check_close(array(gradient(y, x, y.array()), x.shape()), x.shape(), x.to_vector<double>());
  }
}

TEST_CASE("rotary_embedding in several threads") {
  const Array x = uniform({2, 4, 6}, -1, 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int64_t n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      for (int64_t i = 0; i < 40; ++i) {
        const F::RotaryOptions options{.first = 50 * i, .base = 1000.0 + static_cast<double>((i + n) % 3)};
        const std::vector<double> expected = turned(Variable(x), options);
        const std::vector<double> got = F::rotary_embedding(Variable(x), options).to_vector<double>();
        for (size_t k = 0; k < got.size(); ++k) wrong += std::abs(got[k] - expected[k]) > 1e-12 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("arguments that rotary_embedding refuses") {
  const Variable x(ones({3, 4}, Dtype::float64, test_device()));
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.first = -1}), doctest::Contains("F::rotary_embedding: first is -1"),
                       ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.base = 0}), doctest::Contains("F::rotary_embedding: base is 0"),
                       ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.scaling = {.factor = 0}}),
                       doctest::Contains("F::rotary_embedding: scaling.factor is 0"), ValueError);
  CHECK_THROWS_AS(F::rotary_embedding(x, {.scaling = {.trained = -1}}), ValueError);
  CHECK_THROWS_AS(F::rotary_embedding(x, {.scaling = {.low = 0}}), ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.scaling = {.low = 4}}),
                       doctest::Contains("scaling.high is 4: it must be more than scaling.low and finite"), ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(Variable(ones({3, 5}, Dtype::float64, test_device()))),
                       doctest::Contains("x has shape (3, 5)"), TypeError);
}

}  // namespace kusari::rotary_test
