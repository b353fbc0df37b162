#include "kusari/framework/functions/normalization/rms_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::rms_normalization_test {
namespace {
using namespace testing;

struct Expected {
  std::vector<double> y, gx, ggamma;
};

// Of rows in C order, with gy as the gradient of y.
Expected normalized(const Variable& x, const Variable& gamma, double eps, const std::vector<double>& gy) {
  const std::vector<double> in = x.to_vector<double>(), factor = gamma.to_vector<double>();
  const size_t n = factor.size(), rows = n == 0 ? 0 : in.size() / n;
  const auto count = static_cast<double>(n);
  Expected e{std::vector<double>(in.size()), std::vector<double>(in.size()), std::vector<double>(n)};
  for (size_t at = 0; at < rows * n; at += n) {
    double square = 0, product = 0;
    for (size_t i = 0; i < n; ++i) {
      square += in[at + i] * in[at + i] / count;
      product += in[at + i] * factor[i] * gy[at + i] / count;
    }
    const double inv = 1 / std::sqrt(square + eps);
    for (size_t i = 0; i < n; ++i) {
      e.y[at + i] = factor[i] * in[at + i] * inv;
      e.gx[at + i] = factor[i] * gy[at + i] * inv - in[at + i] * product * inv * inv * inv;
      e.ggamma[i] += gy[at + i] * in[at + i] * inv;
    }
  }
  return e;
}

void check(const Array& x_array, const Array& gamma_array, double eps) {
  const Variable x(x_array), gamma(gamma_array);
  const Array gy = uniform(x.shape(), -1, 1, 7).astype(x.dtype());
  const Variable y = F::rms_normalization(x, gamma, eps);
  const Expected e = normalized(x, gamma, eps, gy.to_vector<double>());
  CHECK(y.dtype() == x.dtype());
  check_close(y.array(), x.shape(), e.y, 4);
  const Variable seed(gy, false);
  const Variables gradients = grad({y}, {x, gamma}, {.grad_outputs = std::span<const Variable>(&seed, 1)});
  CHECK(gradients[0].dtype() == x.dtype());
  CHECK(gradients[1].dtype() == gamma.dtype());
  check_close(gradients[0].array(), x.shape(), e.gx, 8);
  check_close(gradients[1].array(), gamma.shape(), e.ggamma, 20);
}
}  // namespace

TEST_CASE("rms_normalization: rows divided by the root of their mean square") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const Shape& shape : {Shape{2, 3, 5}, Shape{4, 1}, Shape{7}, Shape{3, 16}, Shape{70, 33}, Shape{2, 288},
                               Shape{1, 1, 2, 1025}, Shape{0, 4}, Shape{2, 0}}) {
      CAPTURE(shape);
      const Array gamma = uniform({shape[shape.ndim() - 1]}, 0.5, 2, 2);
      check(uniform(shape, -2, 2).astype(dtype), gamma.astype(dtype), 0.1);
      if (is_half(dtype)) check(uniform(shape, -2, 2).astype(dtype), gamma.astype(Dtype::float32), 0.1);
    }
  }
  check_gradients(
      [](const Variable& x, const Variable& gamma) {
        const Variable y = F::rms_normalization(x, gamma);
        return F::sum(y * y * y);
      },
      uniform({3, 4}, -1, 1), uniform({4}, 0.5, 2, 3));
  check_gradients([](const Variable& x, const Variable& gamma) { return F::rms_normalization(x, gamma, 0.1); },
                  uniform({2, 1, 5}, -1, 1), uniform({5}, 0.5, 2, 3));
  check_gradients([](const Variable& x, const Variable& gamma) { return F::rms_normalization(x, gamma, 0.1); },
                  uniform({3}, -1, 1), uniform({3}, 0.5, 2, 3));
}

TEST_CASE("rms_normalization: squares beyond the range of the dtype") {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    for (const int64_t n : {4, 1000, 40000}) {
      CAPTURE(n);
      const Array x = (uniform({2, n}, -2, 2) * 0x1p+100).astype(dtype),
                  gamma = uniform({n}, 0.5, 1.5, 2).astype(dtype);
      check(x, gamma, 1e-5);
      const Array gy = uniform({2, n}, -1, 1, 4).astype(dtype);
      const auto gradient_in = [&](Dtype in) {
        const Variable v(x.astype(in));
        return array(gradient(F::rms_normalization(v, gamma.astype(in)), v, gy.astype(in)), {2, n}) * 0x1p+100;
      };
      check_close(gradient_in(dtype).astype(dtype), {2, n}, gradient_in(Dtype::float64).to_vector<double>(), 4);
    }
  }
}

TEST_CASE("rms_normalization of rows and factors with gaps") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array gamma = uniform({12}, 0.5, 2, 2).astype(dtype).slice(0, 1, 6, 2);
    const Array x = uniform({4, 5, 6}, -2, 2).astype(dtype);
    for (const Array& view : {x.transpose({1, 0, 2}), uniform({6, 7}, -2, 2).astype(dtype).transpose(),
                              uniform({4, 12}, -2, 2).astype(dtype).slice(1, 0, 6, 2), x.slice(1, 4, 5, -1),
                              x.slice(1, 0, 1).broadcast_to(x.shape())}) {
      CAPTURE(view.shape());
      check(view, gamma, 1e-3);
    }
  }
}

TEST_CASE("rms_normalization: gradients of first order have the numbers of those that are differentiable") {
  const Variable x(uniform({5, 6}, -1, 1)), gamma(uniform({6}, 0.5, 2, 2));
  const Variable seed(uniform({5, 6}, -1, 1, 3), false);
  const auto gradients = [&](bool differentiable) {
    return grad({F::rms_normalization(x, gamma, 0.01)}, {x, gamma},
                {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = differentiable});
  };
  const Variables fused = gradients(false), composed = gradients(true);
  for (size_t i = 0; i < 2; ++i) check_close(fused[i].array(), fused[i].shape(), composed[i].to_vector<double>());
}

TEST_CASE("rms_normalization sums half types in float32") {
  // The squares of these leave float16, whose largest number is 65504.
  const Array x = full({2, 64}, 300, Dtype::float16, test_device()), gamma = ones({64}, Dtype::float16, test_device());
  check_close(F::rms_normalization(Variable(x), Variable(gamma)).array(), x.shape(), std::vector<double>(128, 1));
}

TEST_CASE("arguments that rms_normalization refuses") {
  const Variable x(ones({3, 4}, Dtype::float64, test_device())), gamma(ones({3}, Dtype::float64, test_device()));
  CHECK_THROWS_WITH_AS(F::rms_normalization(x, gamma),
                       doctest::Contains("F::rms_normalization: gamma has shape (3,) and x (3, 4)"), TypeError);
  CHECK_THROWS_WITH_AS(F::rms_normalization(x, gamma, -1), doctest::Contains("F::rms_normalization: eps is -1"),
                       ValueError);
}

}  // namespace kusari::rms_normalization_test
