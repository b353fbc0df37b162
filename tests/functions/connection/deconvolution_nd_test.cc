#include "kusari/framework/functions/connection/deconvolution_nd.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/tests/functions/connection/convolution_reference.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::testing {
namespace {

struct DeconvolutionCase {
  Shape x, W, y;
  F::DeconvolutionOptions options;

  Geometry geometry() const {
    const auto resolve = [&](const PerAxis& numbers) { return numbers.resolve(x.ndim() - 2, "", ""); };
    return {resolve(options.stride), resolve(options.pad), resolve(options.dilate), options.groups};
  }
};

const DeconvolutionCase kDeconvolutionCases[] = {
    {{2, 3, 5}, {3, 4, 3}, {2, 4, 7}, {}},
    {{2, 3, 5}, {3, 4, 3}, {2, 4, 10}, {.stride = 2, .pad = 1, .outsize = {10}}},
    {{2, 4, 3, 4}, {4, 3, 3, 2}, {2, 6, 5, 9}, {.stride = {2, 3}, .pad = {1, 1}, .dilate = {1, 1}, .groups = 2}},
    {{1, 2, 3, 3}, {2, 3, 1, 1}, {1, 3, 3, 3}, {}},
    {{2, 9, 3, 2}, {9, 1, 3, 3}, {2, 9, 5, 3}, {.stride = 2, .pad = 1, .groups = 9}},
    {{1, 2, 2, 3, 2}, {2, 2, 2, 1, 3}, {1, 2, 4, 3, 6}, {.stride = {2, 1, 1}, .dilate = {1, 1, 2}}},
    {{0, 2, 4, 4}, {2, 3, 3, 3}, {0, 3, 6, 6}, {}},
};

TEST_CASE("deconvolution_nd") {
  for (const DeconvolutionCase& c : kDeconvolutionCases) {
    CAPTURE(to_string(c.x));
    const Array x = uniform(c.x, -1, 1, 1), W = uniform(c.W, -1, 1, 2), b = uniform({c.y[1]}, -1, 1, 3);
    // The gradient of the convolution from y's shape to x's.
    const std::vector<double> sums = reference_convolution(Wanted::x, empty(c.y, Dtype::float64), W, x, c.geometry());
    std::vector<double> with_bias = sums;
    const std::vector<double> bias = b.to_vector<double>();
    const size_t pixels = numel(c.y) == 0 ? 1 : sums.size() / static_cast<size_t>(c.y[0] * c.y[1]);
    for (size_t i = 0; i < sums.size(); ++i) with_bias[i] += bias[i / pixels % bias.size()];
    for (const Array& input : {x, x.channels_last()}) {
      check_close(F::deconvolution_nd(input, W, Variable(), c.options), c.y, sums);
      check_close(F::deconvolution_nd(input, W.channels_last(), b, c.options), c.y, with_bias);
    }
    const auto deconvolution = [&](const Variable& v, const Variable& w, const Variable& d) {
      return F::deconvolution_nd(v, w, d, c.options);
    };
    check_gradients(deconvolution, x, W, b);
  }
}

TEST_CASE("deconvolution_1d, _2d and _3d are deconvolution_nd") {
  const auto same = [](auto function, const Shape& x, const Shape& W) {
    const Array xs = uniform(x, -1, 1), Ws = uniform(W, -1, 1, 2);
    return function(xs, Ws, Variable(), F::DeconvolutionOptions{.stride = 2}).template to_vector<double>() ==
           F::deconvolution_nd(xs, Ws, Variable(), {.stride = 2}).to_vector<double>();
  };
  CHECK(same(F::deconvolution_1d, {2, 3, 6}, {3, 4, 3}));
  CHECK(same(F::deconvolution_2d, {2, 3, 6, 5}, {3, 4, 3, 2}));
  CHECK(same(F::deconvolution_3d, {2, 3, 6, 5, 4}, {3, 4, 3, 2, 1}));
}

TEST_CASE("deconvolution's gradients are the same whether they are recorded or not") {
  for (const DeconvolutionCase& c : kDeconvolutionCases) {
    const auto gradients = [&](bool record) {
      const Variable x(uniform(c.x, -1, 1, 1)), W(uniform(c.W, -1, 1, 2)), b(uniform({c.y[1]}, -1, 1, 3));
      Variable y = F::deconvolution_nd(x, W, b, c.options);
      y.set_grad(uniform(c.y, -1, 1, 4));
      y.backward({.enable_double_backprop = record});
      std::vector<double> all;
      for (const Variable& v : {x, W, b}) {
        for (const double value : v.grad().to_vector<double>()) all.push_back(value);
      }
      return all;
    };
    CHECK(gradients(false) == gradients(true));
  }
}

TEST_CASE("deconvolution's rules") {
  const Array x = zeros({2, 4, 5, 5}), W = zeros({4, 6, 3, 3});
  CHECK_THROWS_WITH_AS(F::deconvolution_2d(x, zeros({3, 6, 3, 3})),
                       "F::deconvolution_2d: x has shape (2, 4, 5, 5) but W has shape (3, 6, 3, 3): x.shape[1] must "
                       "equal W.shape[0] (4 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::deconvolution_2d(x, W, zeros({6}), {.groups = 2}),
                       "F::deconvolution_2d: x has shape (2, 4, 5, 5) but W has shape (4, 6, 3, 3) and groups is 2: "
                       "b.shape[0] must equal W.shape[1] * groups (6 != 6 * 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::deconvolution_2d(x, W, Variable(), {.stride = 2, .outsize = {11, 13}}),
                       "F::deconvolution_2d: x has shape (2, 4, 5, 5) but W has shape (4, 6, 3, 3) and outsize is (11, "
                       "13): a convolution of that size has 6 to 6 positions along axis 3, not 5",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::deconvolution_2d(x, W, Variable(), {.pad = 4}),
                       "F::deconvolution_2d: x has shape (2, 4, 5, 5) but W has shape (4, 6, 3, 3): axis 2 of the "
                       "output would have size -1 with stride 1 and pad 4",
                       ValueError);
  CHECK_THROWS_AS(F::deconvolution_2d(x, W, Variable(), {.groups = 3}), TypeError);
  CHECK_THROWS_AS(F::deconvolution_2d(x, W, zeros({5})), TypeError);
  CHECK_THROWS_AS(F::deconvolution_1d(x, W), TypeError);
}

}  // namespace
}  // namespace kusari::testing
