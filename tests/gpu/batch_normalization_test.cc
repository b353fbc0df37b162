#include "kusari/framework/kernels/batch_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/tests/gpu/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Options = kernels::BatchNormalization;

/// An undefined, or an uninitialised array beside x in some layout.
Array zeros_like_input(const Array& x, const Shape& shape, Dtype dtype, Layout layout = Layout::contiguous) {
  return in_layout(zeros(shape, dtype, x.device()), layout);
}

Shape channel_shape(const Shape& shape, AxisMask axes) { return reduced_shape(shape, axes, false); }

struct BatchCase {
  Shape shape;
  AxisMask axes;
};
constexpr AxisMask kImageAxes{0b1101};  // all but the channels of (N, C, H, W)

Dtype statistics_dtype(Dtype x, Dtype gamma) {
  return x == Dtype::float64 || gamma == Dtype::float64 ? Dtype::float64 : Dtype::float32;
}

/// What a test gives to every kernel.
struct Inputs {
  Array x, residual, gy, gamma, beta;

  Inputs(const BatchCase& c, Dtype dtype, Dtype gamma_dtype, Layout layout, double mean = 0.5) {
    x = in_layout(uniform_array(c.shape, mean - 2, mean + 2, dtype, 1), layout);
    residual = in_layout(uniform_array(c.shape, -1, 1, dtype, 2), layout);
    gy = in_layout(uniform_array(c.shape, -1, 1, dtype, 3), layout);
    const Shape channels = channel_shape(c.shape, c.axes);
    gamma = uniform_array(channels, 0.5, 1.5, gamma_dtype, 4);
    beta = uniform_array(channels, -0.5, 0.5, gamma_dtype, 5);
  }
};

/// Widest allowed difference, in tolerances: sums over many rows in another order.
constexpr double kBatchFactor = 8;

void check_forward(const Device& device, const BatchCase& c, Dtype dtype, Dtype gamma_dtype, Layout layout,
                   bool has_residual, bool relu, bool has_running, bool has_y = true, double mean = 0.5) {
  CAPTURE(c.shape);
  CAPTURE(dtype);
  CAPTURE(gamma_dtype);
  CAPTURE(static_cast<int>(layout));
  CAPTURE(has_residual);
  CAPTURE(relu);
  const Inputs in(c, dtype, gamma_dtype, layout, mean);
  const Options options{.axes = c.axes, .eps = 1e-3, .decay = 0.75, .relu = relu};
  const Dtype compute = statistics_dtype(dtype, gamma_dtype);
  const auto forward = [&](const Array& x, const Array& residual, const Array& gamma, const Array& beta) {
    const Shape channels = gamma.shape();
    std::vector<Array> out(5);
    out[0] = zeros_like_input(x, channels, compute);
    out[1] = zeros_like_input(x, channels, compute);
    if (has_y)
      out[2] = zeros_like_input(x, x.shape(), x.dtype(), layout == Layout::broadcast ? Layout::contiguous : layout);
    if (has_running) {
      out[3] = full(channels, 0.5, gamma.dtype(), x.device());
      out[4] = in_layout(full(channels, 2.0, gamma.dtype(), x.device()), Layout::every_second);
    }
    launch<kernels::BatchNormalizationForward>(x.device(), options, x, has_residual ? residual : Array(), gamma, beta,
                                               out[3], out[4], out[0], out[1], out[2]);
    return out;
  };
  check_on_gpu(device, forward, kBatchFactor, in.x, in.residual, in.gamma, in.beta);
}

void check_backward(const Device& device, const BatchCase& c, Dtype dtype, Dtype gamma_dtype, Layout layout,
                    bool has_residual, bool relu, bool fixed, int wanted = 15) {
  CAPTURE(c.shape);
  CAPTURE(dtype);
  CAPTURE(gamma_dtype);
  CAPTURE(static_cast<int>(layout));
  CAPTURE(has_residual);
  CAPTURE(relu);
  CAPTURE(fixed);
  CAPTURE(wanted);
  const Inputs in(c, dtype, gamma_dtype, layout);
  const Options options{.axes = c.axes, .eps = 1e-3, .decay = 0.75, .relu = relu, .fixed = fixed};
  const Dtype compute = statistics_dtype(dtype, gamma_dtype);
  // One y and one set of statistics for both devices: elements near the cut fall on the same side.
  const Array y = zeros_like_input(in.x, c.shape, dtype, layout == Layout::broadcast ? Layout::contiguous : layout);
  const Array mean = zeros_like_input(in.x, in.gamma.shape(), compute),
              inv_std = zeros_like_input(mean, mean.shape(), compute);
  launch<kernels::BatchNormalizationForward>(in.x.device(), options, in.x, has_residual ? in.residual : Array(),
                                             in.gamma, in.beta, Array(), Array(), mean, inv_std, y);
  const auto backward = [&](const Array& x, const Array& to, const Array& gy, const Array& gamma, const Array& beta,
                            const Array& m, const Array& s) {
    std::vector<Array> out(4);
    const Layout result = layout == Layout::broadcast ? Layout::contiguous : layout;
    if (wanted & 1) out[0] = zeros_like_input(x, x.shape(), x.dtype(), result);
    if ((wanted & 2) && relu && has_residual) out[1] = zeros_like_input(x, x.shape(), x.dtype(), result);
    if (wanted & 4) out[2] = zeros_like_input(x, gamma.shape(), gamma.dtype());
    if (wanted & 8) out[3] = zeros_like_input(x, gamma.shape(), gamma.dtype());
    launch<kernels::BatchNormalizationBackward>(x.device(), options, x, has_residual ? to : Array(), gy, gamma,
                                                relu && !has_residual ? beta : Array(), m, s, out[0], out[1], out[2],
                                                out[3]);
    return out;
  };
  // Sums over elements of both signs cancel: their error is one of the terms' size.
  const double terms = static_cast<double>(numel(c.shape)) / static_cast<double>(std::max<int64_t>(1, in.gamma.size()));
  check_on_gpu(device, backward, kBatchFactor * std::sqrt(std::max(1.0, terms / 64)), in.x, y, in.gy, in.gamma, in.beta,
               mean, inv_std);
}

void check_batch_normalization(const Device& device, const BatchCase& c, Dtype dtype, Dtype gamma_dtype,
                               Layout layout) {
  for (const bool has_residual : {false, true}) {
    for (const bool relu : {false, true}) {
      check_forward(device, c, dtype, gamma_dtype, layout, has_residual, relu, relu != has_residual);
      check_backward(device, c, dtype, gamma_dtype, layout, has_residual, relu, false);
      check_backward(device, c, dtype, gamma_dtype, layout, has_residual, relu, true);
    }
  }
}

TEST_CASE("batch normalization: channels of images") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    const Dtype gamma = dtype == Dtype::float64 ? dtype : Dtype::float32;
    for (const int64_t channels : {1, 3, 8, 20, 64, 257}) {
      // Few rows are one kernel's work, more that of several.
      check_batch_normalization(*device, {{2, channels, 5, 7}, kImageAxes}, dtype, gamma, Layout::channels_last);
      check_batch_normalization(*device, {{3, channels, 14, 13}, kImageAxes}, dtype, gamma, Layout::channels_last);
    }
    check_batch_normalization(*device, {{3, 20, 4, 3}, kImageAxes}, dtype, gamma, Layout::contiguous);
    check_batch_normalization(*device, {{1, 16, 3, 3}, kImageAxes}, dtype, gamma, Layout::channels_last);
  }
}

TEST_CASE("batch normalization: other axes, strides and sizes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
    check_batch_normalization(*device, {{33, 48}, AxisMask::of(0)}, dtype, Dtype::float32, Layout::contiguous);
    check_batch_normalization(*device, {{1, 24}, AxisMask::of(0)}, dtype, Dtype::float32, Layout::contiguous);
    check_batch_normalization(*device, {{6, 3, 4, 5}, AxisMask::of(0)}, dtype, Dtype::float32, Layout::channels_last);
    check_batch_normalization(*device, {{4, 5, 8}, {0b011}}, dtype, Dtype::float32, Layout::contiguous);
    check_batch_normalization(*device, {{4, 5}, {0b11}}, dtype, Dtype::float32, Layout::contiguous);
    for (const Layout layout : kLayouts)
      check_batch_normalization(*device, {{3, 8, 4, 5}, kImageAxes}, dtype, Dtype::float32, layout);
    for (const Shape& shape : {Shape{0, 8, 4, 4}, Shape{2, 0, 3, 3}, Shape{2, 8, 0, 3}})
      check_batch_normalization(*device, {shape, kImageAxes}, dtype, Dtype::float32, Layout::contiguous);
  }
}

TEST_CASE("batch normalization: parameters of other dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const BatchCase& c : {BatchCase{{2, 16, 5, 5}, kImageAxes}, BatchCase{{3, 16, 14, 13}, kImageAxes}}) {
    check_batch_normalization(*device, c, Dtype::float16, Dtype::float16, Layout::channels_last);
    check_batch_normalization(*device, c, Dtype::bfloat16, Dtype::bfloat16, Layout::channels_last);
    check_batch_normalization(*device, c, Dtype::float16, Dtype::float64, Layout::channels_last);
    check_batch_normalization(*device, c, Dtype::float64, Dtype::float32, Layout::channels_last);
  }
}

TEST_CASE("batch normalization: results that nobody wants") {
  const auto device = gpu_device();
  if (!device) return;
  for (const BatchCase& c : {BatchCase{{2, 16, 5, 5}, kImageAxes}, BatchCase{{3, 16, 14, 13}, kImageAxes}}) {
    check_forward(*device, c, Dtype::float16, Dtype::float32, Layout::channels_last, false, false, true, false);
    for (int wanted = 0; wanted < 16; ++wanted) {
      for (const bool fixed : {false, true}) {
        check_backward(*device, c, Dtype::float16, Dtype::float32, Layout::channels_last, true, true, fixed, wanted);
        check_backward(*device, c, Dtype::float16, Dtype::float32, Layout::channels_last, false, true, fixed, wanted);
      }
    }
  }
}

TEST_CASE("batch normalization: many rows far from zero") {
  const auto device = gpu_device();
  if (!device) return;
  // mean 1000 and a standard deviation of about 1: the formula E[x^2] - E[x]^2 has no digit left in float32.
  const BatchCase c{{8, 4, 64, 64}, kImageAxes};
  const Options options{.axes = c.axes, .eps = 0, .decay = 0};
  const Array x = in_layout(uniform_array(c.shape, 1000 - 1.7320508, 1000 + 1.7320508), Layout::channels_last);
  const auto variance = [&](const Array& in) {
    std::vector<Array> out{zeros({4}, Dtype::float32, in.device()), zeros({4}, Dtype::float32, in.device())};
    launch<kernels::BatchNormalizationForward>(
        in.device(), options, in, Array(), ones({4}, Dtype::float32, in.device()),
        zeros({4}, Dtype::float32, in.device()), Array(), Array(), out[0], out[1], Array());
    return out;
  };
  check_on_gpu(*device, variance, 1, x);
  // Against float64: the inverse deviation to a few units in the last place.
  const Array inv_std = variance(on_device(x, *device))[1];
  const std::vector<double> values = x.astype(Dtype::float64).transpose({1, 0, 2, 3}).contiguous().to_vector<double>();
  const size_t rows = values.size() / 4;
  for (size_t channel = 0; channel < 4; ++channel) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < rows; ++i) mean += values[channel * rows + i] / static_cast<double>(rows);
    for (size_t i = 0; i < rows; ++i) square += std::pow(values[channel * rows + i] - mean, 2);
    CHECK(inv_std.to_vector<double>()[channel] ==
          doctest::Approx(std::sqrt(static_cast<double>(rows) / square)).epsilon(1e-6));
  }
  check_forward(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, true, true, true, true, 100);
  check_backward(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, true, true, false);
  check_backward(*device, {{4, 64, 40, 40}, kImageAxes}, Dtype::float16, Dtype::float32, Layout::channels_last, false,
                 true, false);
}

TEST_CASE("batch normalization: from given statistics, and again") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Shape& shape : {Shape{2, 16, 5, 5}, Shape{2, 3, 5, 5}, Shape{0, 16, 5, 5}}) {
      const BatchCase c{shape, kImageAxes};
      const Inputs in(c, dtype, Dtype::float32, Layout::channels_last);
      const Dtype compute = statistics_dtype(dtype, Dtype::float32);
      const Array mean = uniform_array(in.gamma.shape(), -1, 1, Dtype::float32, 6);
      const Array var = uniform_array(in.gamma.shape(), 0.5, 2, Dtype::float32, 7);
      for (const bool relu : {false, true}) {
        const Options options{.axes = c.axes, .eps = 1e-3, .decay = 0, .relu = relu, .fixed = true};
        const auto fixed = [&](const Array& x, const Array& residual, const Array& gamma, const Array& beta,
                               const Array& m, const Array& v) {
          std::vector<Array> out{empty_like(x), empty(gamma.shape(), compute, x.device()), empty_like(x),
                                 empty_like(x)};
          launch<kernels::FixedBatchNormalization>(x.device(), options, x, residual, gamma, beta, m, v, out[1], out[0]);
          launch<kernels::FixedBatchNormalization>(x.device(), options, x, Array(), gamma, beta, m, v, Array(), out[2]);
          launch<kernels::BatchNormalizationAgain>(x.device(), options, x, residual, gamma, beta, m.astype(compute),
                                                   out[1], out[3]);
          CHECK(out[0].to_vector<double>() == out[3].to_vector<double>());
          return out;
        };
        check_on_gpu(*device, fixed, 4, in.x, in.residual, in.gamma, in.beta, mean, var);
      }
    }
  }
}

}  // namespace
}  // namespace kusari
