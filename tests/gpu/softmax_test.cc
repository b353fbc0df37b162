#include "kusari/framework/kernels/softmax.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/reduce.h"
#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

std::vector<Array> softmax_results(const Array& x, int axis) {
  const Array softmax = empty_like(x), log_softmax = empty_like(x);
  const Array sums = empty(reduced_shape(x.shape(), AxisMask::of(axis), false), x.dtype(), x.device());
  launch<kernels::Softmax>(x.device(), axis, x, softmax);
  launch<kernels::LogSoftmax>(x.device(), axis, x, log_softmax);
  launch<kernels::Logsumexp>(x.device(), axis, x, sums);
  return {softmax, log_softmax, sums};
}

std::vector<Array> softmax_gradients(const Array& y, const Array& gy, int axis) {
  const Array softmax = empty_like(y), log_softmax = empty_like(y);
  launch<kernels::SoftmaxGrad>(y.device(), axis, y, gy, softmax);
  launch<kernels::LogSoftmaxGrad>(y.device(), axis, y, gy, log_softmax);
  return {softmax, log_softmax};
}

/// Losses and, with `score`, probabilities, gradient, and mean losses with their divisors.
std::vector<Array> cross_entropy(const Array& x, const Array& t, const Array& weight, const Array& g, bool score) {
  const kernels::SoftmaxCrossEntropyOptions options{-1};
  const Array loss = empty(t.shape(), is_half(x.dtype()) ? Dtype::float32 : x.dtype(), x.device());
  const Array p = score ? empty_like(x) : Array(), gx = empty_like(x);
  launch<kernels::SoftmaxCrossEntropy>(x.device(), options, x, t, weight, loss, p);
  if (!score) return {loss};
  const Array divisor = empty({}, loss.dtype(), x.device()), mean = empty({}, x.dtype(), x.device());
  const Array mean_of_all = empty_like(mean), all = empty_like(divisor), gx_of_mean = empty_like(x);
  launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), options, p, t, weight, g, Array(), gx);
  launch<kernels::MeanLoss>(x.device(), kernels::MeanLossOptions{-1}, loss, t, mean, divisor);
  launch<kernels::MeanLoss>(x.device(), kernels::MeanLossOptions{-1, 7}, loss, t, mean_of_all, all);
  launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), options, p, t, weight, g, divisor, gx_of_mean);
  return {loss, p, gx, mean, divisor, mean_of_all, all, gx_of_mean};
}

Array labels(const Shape& shape, int64_t classes, Dtype dtype, int64_t lowest = -1) {
  return uniform_array(shape, static_cast<double>(lowest) + 0.0, static_cast<double>(classes), Dtype::float64, 7)
      .astype(dtype);
}

}  // namespace

TEST_CASE("cuda softmax: every axis, layout and dtype") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kLayouts) {
      const Array x = in_layout(uniform_array({3, 5, 4, 8}, -4, 4, dtype), layout);
      const Array gy = in_layout(uniform_array({3, 5, 4, 8}, -1, 1, dtype, 2), layout);
      for (int axis = 0; axis < 4; ++axis) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(axis);
        check_on_gpu(
            *device, [&](const Array& a) { return softmax_results(a, axis); }, 4, x);
        check_on_gpu(
            *device, [&](const Array& a, const Array& b) { return softmax_gradients(a, b, axis); }, 8, x, gy);
        check_on_gpu(
            *device, [&](const Array& a, const Array& b) { return softmax_gradients(a, b, axis); }, 8, x,
            gy.contiguous());
      }
    }
  }
}

TEST_CASE("cuda softmax: rows and columns of all lengths") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::float64}) {
    for (const int64_t n : {0, 1, 7, 31, 32, 33, 250, 256, 257, 1000, 1024, 1025, 4097, 10000}) {
      CAPTURE(name(dtype));
      CAPTURE(n);
      for (const Shape& shape : {Shape{3, n}, Shape{n, 3}}) {
        const Array x = uniform_array(shape, -20, 20, dtype), gy = uniform_array(shape, -1, 1, dtype, 2);
        const int axis = shape[0] == 3 ? 1 : 0;
        check_on_gpu(
            *device, [&](const Array& a) { return softmax_results(a, axis); }, 20, x);
        check_on_gpu(
            *device, [&](const Array& a, const Array& b) { return softmax_gradients(a, b, axis); }, 50,
            uniform_array(shape, -1, 0, dtype), gy);
      }
    }
  }
}

TEST_CASE("cuda softmax: infinities, NaN and large numbers") {
  const auto device = gpu_device();
  if (!device) return;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const int64_t n : {4, 300, 1500}) {
    const Array x = zeros({8, n}, Dtype::float64);
    const auto set = [&](int64_t row, int64_t column, double value) { x.at(row).slice(0, column, 1).fill(value); };
    set(0, 2, inf);
    set(1, 3, -inf);
    set(2, 0, nan);
    set(3, n - 1, nan);
    x.at(4).fill(-inf);
    x.at(5).fill(60000);
    x.at(6).fill(-60000);
    set(7, 0, inf);
    set(7, 1, -inf);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      CAPTURE(n);
      check_on_gpu(
          *device, [&](const Array& a) { return softmax_results(a, 1); }, 8, x.astype(dtype));
      check_on_gpu(
          *device, [&](const Array& a) { return softmax_results(a, 0); }, 8, x.astype(dtype).transpose().contiguous());
    }
  }
}

TEST_CASE("cuda softmax: results of other dtypes and strides, and in place") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({4, 6, 5}, -3, 3);
  const Array expected = empty_like(x);
  launch<kernels::Softmax>(x.device(), 1, x, expected);
  for (const Layout layout : kWritableLayouts) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const Array y = on_device(in_layout(zeros(x.shape(), dtype), layout), *device);
      launch<kernels::Softmax>(*device, 1, x.to_device(*device), y);
      check_same(y.astype(Dtype::float32), expected);
    }
  }
  const Array both = x.to_device(*device).copy();
  launch<kernels::Softmax>(*device, 1, both, both);
  check_same(both, expected);
}

TEST_CASE("cuda softmax cross entropy: labels, weights and layouts") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kLayouts) {
      for (const Shape& shape : {Shape{7, 10}, Shape{2, 5, 3, 4}, Shape{3, 1000}, Shape{2, 1500}, Shape{2, 9001}}) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(shape);
        Shape t_shape = shape;
        t_shape.erase(1);
        const Array x = in_layout(uniform_array(shape, -4, 4, dtype), layout);
        const Array weight = uniform_array({shape[1]}, 0.5, 2, dtype, 3);
        for (const Dtype t_dtype : {Dtype::int32, Dtype::int64, Dtype::uint8}) {
          const Array t = labels(t_shape, shape[1], t_dtype, t_dtype == Dtype::uint8 ? 0 : -2);
          const Array g = uniform_array(t_shape, -1, 1, dtype, 4), one = uniform_array({}, 0, 1, dtype, 5);
          for (const bool score : {false, true}) {
            const auto run = [&](const Array& a, const Array& b, const Array& w, const Array& c) {
              return cross_entropy(a, b, w, c, score);
            };
            check_on_gpu(*device, run, 8, x, t, weight, g);
            check_on_gpu(*device, run, 8, x, t, Array(), one);
          }
        }
      }
    }
  }
}

TEST_CASE("cuda softmax cross entropy: ignored labels are zero, bad ones are NaN") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({5, 3}, -1, 1), t = array<int32_t>({0, -1, 3, -2, 2});
  const Array loss =
      cross_entropy(x.to_device(*device), t.to_device(*device), Array(), ones({}, Dtype::float32, *device), true)[0];
  const std::vector<double> values = loss.to_vector<double>();
  CHECK(values[0] > 0);
  CHECK(values[1] == 0);
  CHECK(std::isnan(values[2]));
  CHECK(std::isnan(values[3]));
  CHECK(values[4] > 0);
}

TEST_CASE("cuda softmax cross entropy: the gradient at a label whose probability rounds to 1") {
  const auto device = gpu_device();
  if (!device) return;
  struct Case {
    Shape shape;
    Dtype dtype;
    double score;  // at the labels; the others are 0
  };
  for (const Case& c : {Case{{40, 10}, Dtype::float16, 8},
                        {{2, 7, 3}, Dtype::bfloat16, 8},
                        {{5, 1501}, Dtype::bfloat16, 16},
                        {{3, 9008}, Dtype::bfloat16, 16}}) {
    for (const Layout layout : kWritableLayouts) {
      CAPTURE(c.shape);
      CAPTURE(static_cast<int>(layout));
      const int64_t classes = c.shape[1];
      Shape t_shape = c.shape, class_shape = Shape::filled(c.shape.ndim(), 1);
      t_shape.erase(1);
      class_shape[1] = classes;
      const Array t = labels(t_shape, classes, Dtype::int32, 0);
      const Array is_label = arange(classes, Dtype::int32).reshape(class_shape) == t.expand_dims(1);
      const Array x = in_layout((is_label.astype(Dtype::float32) * c.score).astype(c.dtype), layout);
      const Array gx = cross_entropy(x.to_device(*device), t.to_device(*device), Array(),
                                     ones({}, Dtype::float32, *device), true)[2];
      const double others = static_cast<double>(classes - 1) * std::exp(-c.score);
      const std::vector<double> values = gx.to_vector<double>(), hits = is_label.to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i) {
        if (hits[i] != 0) CHECK(values[i] == doctest::Approx(-others / (1 + others)).epsilon(1e-2).scale(0));
      }
    }
  }
}

TEST_CASE("cuda softmax: no elements") {
  const auto device = gpu_device();
  if (!device) return;
  check_on_gpu(
      *device,
      [](const Array& x, const Array& t) {
        return cross_entropy(x, t, Array(), ones({0}, Dtype::float32, x.device()), true);
      },
      1, zeros({0, 4}), zeros({0}, Dtype::int32));
  CHECK_THROWS_WITH_AS(
      launch<kernels::Softmax>(*device, 0, zeros({3}, Dtype::int32, *device), zeros({3}, Dtype::float32, *device)),
      "softmax: x has dtype int32 but must be floating", TypeError);
}
