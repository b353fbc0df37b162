#include "kusari/framework/functions/normalization/instance_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("instance_normalization: the formula in every dtype, and derivatives") {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{3, 4, 6}, Shape{2, 2, 2, 3, 2}, Shape{0, 2, 3}}) {
    CAPTURE(to_string(shape));
    const int64_t channels = shape[1];
    for (const Dtype dtype : kFloatingDtypes) {
      const Array x = uniform(shape, -1, 2).astype(dtype), gamma = uniform({channels}, 0.5, 1.5, 2).astype(dtype);
      const Array beta = uniform({channels}, -1, 1, 3).astype(dtype);
      Values expected = x.to_vector<double>();
      const Values g = gamma.to_vector<double>(), b = beta.to_vector<double>();
      const size_t images = static_cast<size_t>(shape[0] * channels), n = images == 0 ? 0 : expected.size() / images;
      for (size_t i = 0; i < images; ++i) {
        double mean = 0, variance = 0;
        for (size_t k = 0; k < n; ++k) mean += expected[i * n + k] / static_cast<double>(n);
        for (size_t k = 0; k < n; ++k) {
          variance += (expected[i * n + k] - mean) * (expected[i * n + k] - mean) / static_cast<double>(n);
        }
        const size_t c = i % static_cast<size_t>(channels);
        for (size_t k = 0; k < n; ++k) {
          expected[i * n + k] = g[c] * (expected[i * n + k] - mean) / std::sqrt(variance + 0.01) + b[c];
        }
      }
      const Variable y = F::instance_normalization(x, gamma, beta, {.eps = 0.01});
      CHECK(y.dtype() == dtype);
      check_close(y, shape, expected, 4);
      check_close(F::instance_normalization(x.transpose().contiguous().transpose(), gamma, beta, {.eps = 0.01}), shape,
                  expected, 4);
    }
  }
  const auto normalize = [](const Variable& x, const Variable& gamma, const Variable& beta) {
    return F::instance_normalization(x, gamma, beta);
  };
  check_gradients(normalize, uniform({2, 3, 2, 3}, -1, 1), uniform({3}, 0.5, 1.5), uniform({3}, -1, 1));
}

TEST_CASE("instance_normalization: of nothing, differentiated twice") {
  for (const Shape& shape : {Shape{0, 0, 1, 0}, Shape{2, 0, 3}, Shape{0, 2, 3}, Shape{2, 3, 0}}) {
    CAPTURE(to_string(shape));
    const Variable x(zeros(shape)), gamma(ones({shape[1]})), beta(zeros({shape[1]}));
    const Variable y = F::instance_normalization(x, gamma, beta);
    const Variables g = grad({y}, {x, gamma}, {.enable_double_backprop = true});
    CHECK(g[0].shape() == shape);
    CHECK(g[1].shape() == gamma.shape());
    CHECK(grad({g[0] * g[0]}, {x})[0].shape() == shape);
  }
}

TEST_CASE("instance_normalization says what does not fit") {
  const Array x = ones({2, 3, 4}), three = ones({3});
  CHECK_THROWS_WITH_AS(F::instance_normalization(ones({2, 3}), three, three),
                       "F::instance_normalization: x has shape (2, 3): x.ndim must be at least 3 (2 < 3)", TypeError);
  CHECK_THROWS_AS(F::instance_normalization(x, ones({2}), three), TypeError);
  CHECK_THROWS_AS(F::instance_normalization(x, three, Variable()), TypeError);
  CHECK_THROWS_AS(F::instance_normalization(int_ones({2, 3, 4}), three, three), TypeError);
  CHECK_THROWS_WITH_AS(F::instance_normalization(x, three, three, {.eps = -1}),
                       "F::instance_normalization: eps is -1: it must be at least 0", ValueError);
}

}  // namespace
}  // namespace kusari
