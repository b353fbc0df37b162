#include "kusari/framework/functions/connection/depthwise_convolution_2d.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("depthwise_convolution_2d convolves each channel by itself") {
  const Array x = uniform({2, 3, 5, 4}, -1, 1, 1), W = uniform({2, 3, 3, 2}, -1, 1, 2), b = uniform({6}, -1, 1, 3);
  const F::DepthwiseConvolutionOptions options = {.stride = {2, 1}, .pad = {1, 0}};
  const Variable y = F::depthwise_convolution_2d(x, W, b, options);
  CHECK(y.shape() == Shape{2, 6, 3, 3});
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t m = 0; m < 2; ++m) {
      const Variable one = F::convolution_2d(x.slice(1, c, 1), W.slice(0, m, 1).slice(1, c, 1),
                                             b.slice(0, c * 2 + m, 1), {.stride = options.stride, .pad = options.pad});
      check_close(y.array().slice(1, c * 2 + m, 1), {2, 1, 3, 3}, one.to_vector<double>());
    }
  }
  const auto convolution = [&](const Variable& v, const Variable& w, const Variable& d) {
    return F::depthwise_convolution_2d(v, w, d, options);
  };
  check_gradients(convolution, x, W, b);
}

TEST_CASE("depthwise_convolution_2d's rules") {
  CHECK_THROWS_WITH_AS(F::depthwise_convolution_2d(zeros({2, 3, 5, 4}), zeros({2, 4, 3, 2})),
                       "F::depthwise_convolution_2d: x has shape (2, 3, 5, 4) but W has shape (2, 4, 3, 2): both must "
                       "have 4 axes, and x.shape[1] must equal W.shape[1]",
                       TypeError);
  CHECK_THROWS_AS(F::depthwise_convolution_2d(zeros({2, 3, 5}), zeros({2, 3, 3})), TypeError);
  CHECK_THROWS_AS(F::depthwise_convolution_2d(zeros({2, 3, 5, 4}), zeros({2, 3, 3, 2}), zeros({5})), TypeError);
}

}  // namespace
}  // namespace kusari::testing
