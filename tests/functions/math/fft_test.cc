#include "kusari/framework/functions/math/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kusari/framework/functions/array/stack.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("fft") {
  const Array re = array<float>({1, 2, 3, 4}, test_device()), im = array<float>({0, 1, 0, -1}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variables y = F::fft({re.astype(dtype), im.astype(dtype)});
    REQUIRE(y.size() == 2);
    CHECK(y[0].dtype() == dtype);
    CHECK(y[1].dtype() == dtype);
    check_close(y[0], {4}, {10, 0, -2, -4});
    check_close(y[1], {4}, {0, 2, 0, -2});
    const Variables x = F::ifft({y[0], y[1]});
    check_close(x[0], {4}, {1, 2, 3, 4});
    check_close(x[1], {4}, {0, 1, 0, -1});
  }
  check_close(F::fft({ones({2, 1}, Dtype::float32, test_device()), zeros({2, 1}, Dtype::float32, test_device())})[0],
              {2, 1}, {1, 1});
  check_close(F::fft({ones({0, 3}, Dtype::float32, test_device()), zeros({0, 3}, Dtype::float32, test_device())})[1],
              {0, 3}, {});
}

// Against the sum that defines it, at lengths with small factors, prime ones, and primes beyond which another way is
// taken.
TEST_CASE("fft of any length") {
  for (const int64_t n : {1, 2, 3, 6, 7, 30, 97, 101, 128, 202, 303, 509}) {
    CAPTURE(n);
    const Array re = uniform({2, n}, -1, 1, 1), im = uniform({2, n}, -1, 1, 2);
    const std::vector<double> x = re.to_vector<double>(), y = im.to_vector<double>();
    for (const double sign : {-1.0, 1.0}) {
      std::vector<double> expected_re, expected_im;
      const double scale = sign < 0 ? 1.0 : 1.0 / static_cast<double>(n);
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t k = 0; k < n; ++k) {
          double sum_re = 0, sum_im = 0;
          for (int64_t j = 0; j < n; ++j) {
            const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
            const auto i = static_cast<size_t>(row * n + j);
            sum_re += x[i] * std::cos(angle) - y[i] * std::sin(angle);
            sum_im += x[i] * std::sin(angle) + y[i] * std::cos(angle);
          }
          expected_re.push_back(sum_re * scale);
          expected_im.push_back(sum_im * scale);
        }
      }
      const Variables result = sign < 0 ? F::fft({re, im}) : F::ifft({re, im});
      check_close(result[0], {2, n}, expected_re, 10);
      check_close(result[1], {2, n}, expected_im, 10);
    }
  }
}

TEST_CASE("fft of a long prime length is quick and exact") {
  const int64_t n = 65537;
  std::vector<double> impulse(static_cast<size_t>(n), 0);
  impulse[1] = 1;
  const Variables y = F::fft({array(impulse, test_device()), zeros({n}, Dtype::float64, test_device())});
  const std::vector<double> re = y[0].to_vector<double>(), im = y[1].to_vector<double>();
  double worst = 0;
  for (size_t k = 0; k < re.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    worst = std::max({worst, std::abs(re[k] - std::cos(angle)), std::abs(im[k] - std::sin(angle))});
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("fft's gradients") {
  for (const bool inverse : {false, true}) {
    const auto transform = [=](const Variable& re, const Variable& im) {
      const Variables y = inverse ? F::ifft({re, im}) : F::fft({re, im});
      return F::stack({y[0], y[1]});
    };
    check_gradients(transform, uniform({2, 5}, -1, 1, 1), uniform({2, 5}, -1, 1, 2));
    check_gradients([&](const Variable& re) { return transform(re, zeros({4}, Dtype::float64, test_device())); },
                    uniform({4}, -1, 1, 3));
  }
  // Of one part alone: y[1] is the imaginary part of the sum.
  const Variable re(array<float>({1, 2}, test_device())), im(array<float>({3, 4}, test_device()));
  const Variables y = F::fft({re, im});
  CHECK(gradient(y[1], im) == std::vector<double>{2, 0});
  CHECK(gradient(y[1], re) == std::vector<double>{0, 0});
}

TEST_CASE("fft's errors") {
  CHECK_THROWS_WITH_AS(F::fft({ones({2})}), "F::fft: x has 1 parts: they must be 2, the real and the imaginary one",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::ifft({ones({2, 0}), ones({2, 0})}),
                       "F::ifft: real has shape (2, 0): real.shape[-1] must be at least 1 (0 < 1)", TypeError);
  CHECK_THROWS_AS(F::fft({ones({}), ones({})}), TypeError);
  CHECK_THROWS_AS(F::fft({ones({2}), ones({3})}), TypeError);
  CHECK_THROWS_AS(F::fft({ones({2}), ones({2}, Dtype::float64)}), TypeError);
  CHECK_THROWS_AS(F::fft({int_ones({2}), int_ones({2})}), TypeError);
}

}  // namespace
}  // namespace kusari
