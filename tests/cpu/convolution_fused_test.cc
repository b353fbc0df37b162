#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/convolution.h"

namespace kusari {

TEST_CASE("convolution with residual, bias and ReLU") {
  kernels::Convolution g;
  g.ndim = 2;
  for (int i = 0; i < 2; ++i) g.stride[i] = g.dilate[i] = 1;
  // 1x1 with the weights (1, -1) and (2, 0): y0 = x0 - x1, y1 = 2 x0.
  const Array x = array<float>({1, -2, 3, 4, /**/ 5, 1, -1, 4}, {1, 2, 2, 2});
  const Array w = array<float>({1, -1, 2, 0}, {2, 2, 1, 1});
  const Array z = array<float>({1, 1, 1, 1, -8, -8, -8, -8}, {1, 2, 2, 2});
  const Array bias = array<float>({0.5f, 10});
  const auto run = [&](kernels::ConvolutionActivation activation, const Array& residual, const Array& b) {
    const Array y = empty_channels_last({1, 2, 2, 2}, Dtype::float32);
    launch<kernels::ConvolutionFusedForward>(Device(), g, activation, x, w, residual, b, y);
    return y.to_vector<float>();
  };
  using Values = std::vector<float>;
  using kernels::ConvolutionActivation;
  CHECK(run(ConvolutionActivation::none, Array(), Array()) == Values{-4, -3, 4, 0, 2, -4, 6, 8});
  CHECK(run(ConvolutionActivation::none, z, Array()) == Values{-3, -2, 5, 1, -6, -12, -2, 0});
  CHECK(run(ConvolutionActivation::none, z, bias) == Values{-2.5f, -1.5f, 5.5f, 1.5f, 4, -2, 8, 10});
  CHECK(run(ConvolutionActivation::relu, z, bias) == Values{0, 0, 5.5f, 1.5f, 4, 0, 8, 10});
  CHECK(run(ConvolutionActivation::relu, Array(), bias) == Values{0, 0, 4.5f, 0.5f, 12, 6, 16, 18});
}

}  // namespace kusari
