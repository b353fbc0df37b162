#include "kusari/framework/functions/normalization/layer_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

Values layer_reference(const Array& x, const Array& gamma, const Array& beta, double eps) {
  const Values v = x.to_vector<double>(), g = gamma.to_vector<double>(), b = beta.to_vector<double>();
  const auto n = static_cast<size_t>(x.shape()[1]);
  Values y;
  for (size_t row = 0; row < v.size(); row += n) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; ++i) mean += v[row + i] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) variance += (v[row + i] - mean) * (v[row + i] - mean) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) y.push_back(g[i] * (v[row + i] - mean) / std::sqrt(variance + eps) + b[i]);
  }
  return y;
}

TEST_CASE("layer_normalization: the formula") {
  for (const Shape& shape : {Shape{3, 4}, {1, 1}, {5, 1}, {2, 17}, {90, 700}, {1, 40000}}) {
    CAPTURE(to_string(shape));
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(shape, -3, 5).astype(dtype), gamma = uniform({shape[1]}, 0.5, 1.5, 2).astype(dtype);
      const Array beta = uniform({shape[1]}, -1, 1, 3).astype(dtype);
      const Values expected = layer_reference(x, gamma, beta, 1e-5);
      const Variable y = F::layer_normalization(x, gamma, beta);
      CHECK(y.dtype() == dtype);
      check_close(y, shape, expected, 4);
      check_close(F::layer_normalization(x.transpose().contiguous().transpose(), gamma, beta), shape, expected, 4);
    }
  }
  const Array x = uniform({3, 4}, -1, 1), one = ones({4}, Dtype::float64, test_device());
  check_close(F::layer_normalization(x, one, one, 0.5), {3, 4}, layer_reference(x, one, one, 0.5));
}

TEST_CASE("layer_normalization: derivatives") {
  const auto function = [](const Variable& x, const Variable& gamma, const Variable& beta) {
    return F::layer_normalization(x, gamma, beta, 0.05);
  };
  for (const Shape& shape : {Shape{3, 4}, {2, 19}, {0, 3}, {1, 2}}) {
    CAPTURE(to_string(shape));
    const Array gamma = uniform({shape[1]}, 0.5, 1.5, 2);
    check_gradients(function, uniform(shape, -1, 2), gamma, gamma.copy());
  }
}

TEST_CASE("layer_normalization: squares beyond the range of the dtype") {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    for (const int64_t n : {4, 1000, 40000}) {
      CAPTURE(n);
      const Array x = (uniform({2, n}, -2, 2) * 0x1p+100).astype(dtype);
      const Array gamma = uniform({n}, 0.5, 1.5, 2).astype(dtype), beta = uniform({n}, -1, 1, 3).astype(dtype);
      check_close(F::layer_normalization(x, gamma, beta), {2, n}, layer_reference(x, gamma, beta, 1e-5), 4);
      const Array gy = uniform({2, n}, -1, 1, 4).astype(dtype);
      const auto gradient_in = [&](Dtype in) {
        const Variable v(x.astype(in));
        return array(gradient(F::layer_normalization(v, gamma.astype(in), beta.astype(in)), v, gy.astype(in)), {2, n}) *
               0x1p+100;
      };
      check_close(gradient_in(dtype).astype(dtype), {2, n}, gradient_in(Dtype::float64).to_vector<double>(), 4);
    }
  }
}

// Of the axes in the mask, which gamma and beta have in order.
Values reference_over(const Array& x, const Array& gamma, const Array& beta, unsigned mask, double eps) {
  const Shape& shape = x.shape();
  const Values v = x.to_vector<double>(), g = gamma.to_vector<double>(), b = beta.to_vector<double>();
  // For each element, where it stands among those normalized with it, and in which group.
  std::vector<size_t> place(v.size()), group(v.size());
  size_t groups = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if ((mask >> axis & 1u) == 0) groups *= static_cast<size_t>(shape[axis]);
  }
  for (size_t i = 0; i < v.size(); ++i) {
    size_t rest = i, place_step = 1, group_step = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      const auto size = static_cast<size_t>(shape[axis]), index = rest % size;
      rest /= size;
      const bool is_normalized = (mask >> axis & 1u) != 0;
      (is_normalized ? place : group)[i] += index * (is_normalized ? place_step : group_step);
      (is_normalized ? place_step : group_step) *= size;
    }
  }
  Values mean(groups), variance(groups), y(v.size());
  const double n = static_cast<double>(v.size() / groups);
  for (size_t i = 0; i < v.size(); ++i) mean[group[i]] += v[i] / n;
  for (size_t i = 0; i < v.size(); ++i) variance[group[i]] += (v[i] - mean[group[i]]) * (v[i] - mean[group[i]]) / n;
  for (size_t i = 0; i < v.size(); ++i) {
    y[i] = g[place[i]] * (v[i] - mean[group[i]]) / std::sqrt(variance[group[i]] + eps) + b[place[i]];
  }
  return y;
}

Shape sizes_of(const Shape& shape, unsigned mask) {
  Shape sizes;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if ((mask >> axis & 1u) != 0) sizes.push_back(shape[axis]);
  }
  return sizes;
}

TEST_CASE("layer_normalization over the last axes, as many as gamma has") {
  for (const Shape& shape : {Shape{3, 4, 5}, {2, 3, 4, 5}, {6}, {2, 1, 3, 1}, {2, 2, 2, 2, 3}}) {
    for (int axes = 1; axes <= shape.ndim(); ++axes) {
      CAPTURE(to_string(shape));
      CAPTURE(axes);
      const unsigned mask = ((1u << axes) - 1u) << (shape.ndim() - axes);
      const Shape sizes = sizes_of(shape, mask);
      for (const Dtype dtype : kFloatingDtypes) {
        CAPTURE(name(dtype));
        const Array x = uniform(shape, -3, 5).astype(dtype), gamma = uniform(sizes, 0.5, 1.5, 2).astype(dtype);
        const Array beta = uniform(sizes, -1, 1, 3).astype(dtype);
        const Values expected = reference_over(x, gamma, beta, mask, 1e-5);
        const Variable y = F::layer_normalization(x, gamma, beta);
        CHECK(y.dtype() == dtype);
        check_close(y, shape, expected, 4);
        check_close(F::layer_normalization(x.transpose().contiguous().transpose(), gamma, beta), shape, expected, 4);
      }
    }
  }
  check_close(F::layer_normalization(zeros({2, 0, 3}), ones({0, 3}), ones({0, 3})), {2, 0, 3}, {});
  check_close(F::layer_normalization(zeros({0, 2, 3}), ones({2, 3}), ones({2, 3})), {0, 2, 3}, {});
}

TEST_CASE("layer_normalization over given axes") {
  const Shape shape{2, 3, 4, 5};
  struct Case {
    Axes axis;
    unsigned mask;
  };
  for (const Case& c : {Case{1, 2}, {{1, 2}, 6}, {{2, 0}, 5}, {{-1, 1}, 10}, {{3}, 8}, {{0, 1, 2, 3}, 15}}) {
    CAPTURE(c.mask);
    const Shape sizes = sizes_of(shape, c.mask);
    const Array x = uniform(shape, -3, 5), gamma = uniform(sizes, 0.5, 1.5, 2), beta = uniform(sizes, -1, 1, 3);
    check_close(F::layer_normalization(x, gamma, beta, {.eps = 0.1, .axis = c.axis}), shape,
                reference_over(x, gamma, beta, c.mask, 0.1), 4);
  }
  const Array x = uniform({2, 3}, -1, 1), one = ones({3}, Dtype::float64, test_device());
  CHECK(F::layer_normalization(x, one, one, {.eps = 0.5}).to_vector<double>() ==
        F::layer_normalization(x, one, one, 0.5).to_vector<double>());
  CHECK_THROWS_AS(F::layer_normalization(x, one, one, {.axis = {1, -1}}), ValueError);
  CHECK_THROWS_AS(F::layer_normalization(x, one, one, {.axis = {}}), ValueError);
}

TEST_CASE("layer_normalization: derivatives over several axes") {
  const auto last = [](const Variable& x, const Variable& gamma, const Variable& beta) {
    return F::layer_normalization(x, gamma, beta, 0.05);
  };
  const auto middle = [](const Variable& x, const Variable& gamma, const Variable& beta) {
    return F::layer_normalization(x, gamma, beta, {.eps = 0.05, .axis = {0, 2}});
  };
  const Array x = uniform({2, 3, 4}, -1, 2);
  check_gradients(last, x, uniform({4}, 0.5, 1.5, 2), uniform({4}, -1, 1, 3));
  check_gradients(last, x, uniform({3, 4}, 0.5, 1.5, 2), uniform({3, 4}, -1, 1, 3));
  check_gradients(last, x, uniform({2, 3, 4}, 0.5, 1.5, 2), uniform({2, 3, 4}, -1, 1, 3));
  check_gradients(middle, x, uniform({2, 4}, 0.5, 1.5, 2), uniform({2, 4}, -1, 1, 3));
}

Values layer_gradients(const Array& x, bool record) {
  const Array gamma = uniform({x.shape()[1]}, 0.5, 1.5, 2).astype(x.dtype());
  const Variable vx(x), vgamma(gamma), vbeta(gamma.copy());
  const Variable y = F::layer_normalization(vx, vgamma, vbeta);
  const Variable seed(uniform(x.shape(), -1, 1, 5).astype(x.dtype()), false);
  const Variables g = grad({y}, {vx, vgamma, vbeta},
                           {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = record});
  Values all;
  for (const Variable& v : g) {
    for (const double value : v.to_vector<double>()) all.push_back(value);
  }
  return all;
}

TEST_CASE("layer_normalization: the fused gradient is the composed one, for any number of threads") {
  const int threads = num_threads();
  for (const Shape& shape : {Shape{5, 7}, {100, 1000}, {2, 40000}, {3000, 3}}) {
    CAPTURE(to_string(shape));
    const Array x = uniform(shape, -1, 2);
    set_num_threads(1);
    const Values fused = layer_gradients(x, false), composed = layer_gradients(x, true);
    REQUIRE(fused.size() == composed.size());
    size_t wrong = 0;
    for (size_t i = 0; i < fused.size(); ++i) {
      wrong += std::abs(fused[i] - composed[i]) > 1e-10 * (1 + std::abs(composed[i])) ? 1 : 0;
    }
    CHECK(wrong == 0);
    set_num_threads(3);
    CHECK(layer_gradients(x, false) == fused);
  }
  set_num_threads(threads);
}

TEST_CASE("layer_normalization says what does not fit") {
  const Variable four(ones({4}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(
      F::layer_normalization(zeros({2, 4, 3}, Dtype::float32, test_device()), four, four),
      "F::layer_normalization: x has shape (2, 4, 3) but gamma has shape (4,): gamma.shape must be that "
      "of the last axes of x",
      TypeError);
  CHECK_THROWS_WITH_AS(F::layer_normalization(zeros({2, 3}, Dtype::float32, test_device()), four, four),
                       "F::layer_normalization: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal "
                       "x.shape[1] (4 != 3)",
                       TypeError);
}

}  // namespace
}  // namespace kusari
