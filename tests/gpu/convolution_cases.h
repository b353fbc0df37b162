#pragma once

#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/kernels/convolution.h"
#include "testing.h"

// Convolutions of the GPU against those of the CPU.
namespace kusari::testing {

/// Lists shorter than the kernel's axes are filled up with the default.
struct ConvolutionCase {
  Shape x, w;
  std::vector<int64_t> stride = {}, pad = {}, dilate = {};
  int64_t groups = 1;

  kernels::Convolution geometry() const {
    kernels::Convolution g;
    g.ndim = x.ndim() - 2;
    g.groups = groups;
    for (int i = 0; i < g.ndim; ++i) {
      const auto at = static_cast<size_t>(i);
      g.stride[i] = at < stride.size() ? stride[at] : 1;
      g.pad[i] = at < pad.size() ? pad[at] : 0;
      g.dilate[i] = at < dilate.size() ? dilate[at] : 1;
    }
    return g;
  }
  Shape y() const {
    const kernels::Convolution g = geometry();
    Shape shape = {x[0], w[0]};
    for (int i = 0; i < g.ndim; ++i) {
      shape.push_back((x[i + 2] + 2 * g.pad[i] - g.dilate[i] * (w[i + 2] - 1) - 1) / g.stride[i] + 1);
    }
    return shape;
  }
};

/// The three passes, with a bias and without.
inline void check_convolution(const Device& device, const ConvolutionCase& c, Dtype dtype, Dtype dtype_of_weights,
                              Layout layout = Layout::channels_last) {
  CAPTURE(c.x);
  CAPTURE(c.w);
  CAPTURE(to_string(Shape(c.stride.begin(), c.stride.end())));
  CAPTURE(to_string(Shape(c.pad.begin(), c.pad.end())));
  CAPTURE(c.groups);
  CAPTURE(name(dtype));
  CAPTURE(name(dtype_of_weights));
  CAPTURE(static_cast<int>(layout));
  const kernels::Convolution g = c.geometry();
  const auto random = [&](const Shape& shape, Dtype of, uint64_t seed) {
    return in_layout(uniform_array(shape, -1, 1, of, seed), layout);
  };
  const Array x = random(c.x, dtype, 1), w = random(c.w, dtype_of_weights, 2), gy = random(c.y(), dtype, 3);
  const auto result = [&](const Shape& shape, Dtype of, const Device& on) {
    return in_layout(full(shape, 77, of, on), layout);
  };
  for (const bool has_bias : {false, true}) {
    CAPTURE(has_bias);
    const Array bias = has_bias ? uniform_array({c.w[0]}, -1, 1, dtype, 4) : Array();
    const auto forward = [&](const Array& image, const Array& weights, const Array& b) {
      const Array y = result(c.y(), dtype, image.device());
      launch<kernels::ConvolutionForward>(image.device(), g, image, weights, b, y);
      return y;
    };
    check_on_gpu(device, forward, 16, x, w, bias);
    const Array x_bias = has_bias ? uniform_array({c.x[1]}, -1, 1, dtype, 5) : Array();
    const auto data_grad = [&](const Array& gradient, const Array& weights, const Array& b) {
      const Array gx = result(c.x, dtype, gradient.device());
      launch<kernels::ConvolutionDataGrad>(gradient.device(), g, gradient, weights, b, gx);
      return gx;
    };
    check_on_gpu(device, data_grad, 16, gy, w, x_bias);
  }
  const auto filter_grad = [&](const Array& image, const Array& gradient) {
    const Array gw = result(c.w, dtype_of_weights, image.device());
    launch<kernels::ConvolutionFilterGrad>(image.device(), g, image, gradient, gw);
    return gw;
  };
  check_on_gpu(device, filter_grad, 16, x, gy);
}

}  // namespace kusari::testing
