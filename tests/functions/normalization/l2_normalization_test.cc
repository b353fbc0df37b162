#include "kusari/framework/functions/normalization/l2_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("normalize divides by the norm plus eps") {
  const Array x = array<float>({3, 4, 0, 0, -6, 8}, {3, 2});
  check_close(F::normalize(x, 0), {3, 2}, {0.6, 0.8, NAN, NAN, -0.6, 0.8});
  check_close(F::normalize(x, 5), {3, 2}, {0.3, 0.4, 0, 0, -0.4, 8.0 / 15});
  check_close(F::normalize(x, 0, 0), {3, 2},
              {3 / std::sqrt(45), 4 / std::sqrt(80), 0, 0, -6 / std::sqrt(45), 8 / std::sqrt(80)});
  check_close(F::normalize(full({}, -3, Dtype::float64), 1, std::nullopt), {}, {-0.75});
  CHECK(F::normalize(zeros({2, 0})).shape() == Shape{2, 0});
  const Array halves = full({2, 50}, 100, Dtype::float16);  // the square of the norm is beyond float16
  check_close(F::normalize(halves), {2, 50}, Values(100, 1 / std::sqrt(50)));
}

TEST_CASE("normalize over several axes") {
  const Array x = uniform({2, 3, 4, 2}, -1, 1);
  const Values v = x.to_vector<double>();
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable y = F::normalize(x.astype(dtype), 0.25, {1, -1});
    const Values values = x.astype(dtype).to_vector<double>();
    Values expected(values.size());
    for (size_t n = 0; n < 2; ++n) {
      for (size_t k = 0; k < 4; ++k) {
        double sum = 0;
        for (size_t j = 0; j < 6; ++j) sum += std::pow(values[n * 24 + j / 2 * 8 + k * 2 + j % 2], 2);
        for (size_t j = 0; j < 6; ++j) {
          const size_t at = n * 24 + j / 2 * 8 + k * 2 + j % 2;
          expected[at] = values[at] / (std::sqrt(sum) + 0.25);
        }
      }
    }
    check_close(y, x.shape(), expected);
    CHECK(y.dtype() == dtype);
    check_close(F::normalize(x.astype(dtype).transpose().contiguous().transpose(), 0.25, {1, -1}), x.shape(), expected);
  }
}

TEST_CASE("normalize: derivatives") {
  for (const Axes& axes : {Axes(1), Axes(0), Axes({0, 2}), Axes(std::nullopt)}) {
    const auto function = [&](const Variable& x) { return F::normalize(x, 0.1, axes); };
    check_gradients(function, uniform({3, 4, 2}, 0.2, 2));
    check_gradients(function, uniform({0, 4, 2}, 0.2, 2));
    const Variable x(uniform({3, 4, 2}, -1, 1)), seed(uniform({3, 4, 2}, -1, 1, 3), false);
    const Variable y = function(x);
    const auto gradient_of = [&](bool record) {
      return grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = record})[0];
    };
    check_close(gradient_of(false), x.shape(), gradient_of(true).to_vector<double>());
  }
}

TEST_CASE("normalize: squares beyond the range of the dtype") {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    for (const int64_t n : {4, 1000, 40000}) {
      CAPTURE(n);
      const Array x = uniform({2, n}, -2, 2).astype(dtype);
      const Array large = (x.astype(Dtype::float64) * 0x1p+100).astype(dtype);
      check_close(F::normalize(large, 0), {2, n}, F::normalize(x.astype(Dtype::float64), 0).to_vector<double>());
      const Array gy = uniform({2, n}, -1, 1, 4).astype(dtype);
      const auto gradient_in = [&](Dtype in) {
        const Variable v(large.astype(in));
        return array(gradient(F::normalize(v, 0), v, gy.astype(in)), {2, n}) * 0x1p+100;
      };
      check_close(gradient_in(dtype).astype(dtype), {2, n}, gradient_in(Dtype::float64).to_vector<double>(), 4);
    }
  }
}

TEST_CASE("normalize: zero vectors have finite derivatives") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const Variable x(array<double>({3, 4, 0, 0}, {2, 2}).astype(dtype));
    const Variable y = F::normalize(x, 0.5);
    for (const bool record : {false, true}) {
      const Variable gx = grad({y}, {x}, {.enable_double_backprop = record})[0];
      const Values values = gx.to_vector<double>();
      CHECK(values[2] == doctest::Approx(2));  // 1 / eps
      CHECK(values[3] == doctest::Approx(2));
      if (!record) continue;
      for (const double v : grad({gx}, {x}, {})[0].to_vector<double>()) CHECK(std::isfinite(v));
    }
  }
}

TEST_CASE("normalize says what does not fit") {
  CHECK_THROWS_WITH_AS(F::normalize(int_ones({2, 2})), "F::normalize: x has dtype int64: x.dtype must be floating",
                       TypeError);
  CHECK_THROWS_AS(F::normalize(zeros({3})), IndexError);
}

}  // namespace
}  // namespace kusari
