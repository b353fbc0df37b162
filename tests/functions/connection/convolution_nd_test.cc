#include "kusari/framework/functions/connection/convolution_nd.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/dilated_convolution_2d.h"
#include "kusari/tests/functions/connection/convolution_reference.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::testing {
namespace {

struct ConvolutionCase {
  Shape x, W, y;
  F::ConvolutionOptions options;

  Geometry geometry() const {
    const int ndim = x.ndim() - 2;
    const auto resolve = [&](const PerAxis& numbers) { return numbers.resolve(ndim, "", ""); };
    return {resolve(options.stride), resolve(options.pad), resolve(options.dilate), options.groups};
  }
};

const ConvolutionCase kConvolutionCases[] = {
    {{2, 3, 7}, {4, 3, 3}, {2, 4, 7}, {.pad = 1}},
    {{2, 3, 8}, {4, 3, 3}, {2, 4, 4}, {.stride = 2, .cover_all = true}},
    {{2, 4, 6, 5}, {6, 2, 3, 2}, {2, 6, 4, 2}, {.stride = {1, 2}, .pad = {0, 1}, .dilate = {1, 3}, .groups = 2}},
    {{1, 2, 5, 4}, {3, 2, 1, 1}, {1, 3, 5, 4}, {}},
    {{2, 9, 5, 4}, {9, 1, 3, 3}, {2, 9, 3, 2}, {.stride = 2, .pad = 1, .groups = 9}},
    {{1, 2, 4, 3, 5}, {2, 2, 2, 3, 2}, {1, 2, 2, 3, 4}, {.stride = {2, 1, 1}, .pad = {0, 1, 0}}},
    {{0, 2, 4, 4}, {3, 2, 3, 3}, {0, 3, 2, 2}, {}},
};

TEST_CASE("convolution_nd") {
  for (const ConvolutionCase& c : kConvolutionCases) {
    CAPTURE(to_string(c.x));
    const Array x = uniform(c.x, -1, 1, 1), W = uniform(c.W, -1, 1, 2), b = uniform({c.W[0]}, -1, 1, 3);
    const std::vector<double> sums =
        reference_convolution(Wanted::y, x, W, empty(c.y, Dtype::float64, test_device()), c.geometry());
    std::vector<double> with_bias = sums;
    const std::vector<double> bias = b.to_vector<double>();
    const size_t pixels = numel(c.y) == 0 ? 1 : sums.size() / static_cast<size_t>(c.y[0] * c.y[1]);
    for (size_t i = 0; i < sums.size(); ++i) with_bias[i] += bias[i / pixels % bias.size()];
    for (const Array& input : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
      check_close(F::convolution_nd(input, W, Variable(), c.options), c.y, sums);
      check_close(F::convolution_nd(input, W.channels_last(), b, c.options), c.y, with_bias);
    }
    const auto convolution = [&](const Variable& v, const Variable& w, const Variable& d) {
      return F::convolution_nd(v, w, d, c.options);
    };
    check_gradients(convolution, x, W, b);
    check_gradients(convolution, x.channels_last(), W.channels_last(), b);
  }
}

TEST_CASE("convolution gives channels-last images") {
  const Variable y = F::convolution_2d(uniform({2, 3, 5, 5}, -1, 1), uniform({4, 3, 3, 3}, -1, 1));
  CHECK(has_image_layout(y.array()));
  const auto guard = using_config(&Config::channels_last, false);
  CHECK(F::convolution_2d(uniform({2, 3, 5, 5}, -1, 1), uniform({4, 3, 3, 3}, -1, 1)).array().is_contiguous());
}

TEST_CASE("convolution_1d, _2d and _3d are convolution_nd") {
  const auto same = [](auto function, const Shape& x, const Shape& W) {
    const Array xs = uniform(x, -1, 1), Ws = uniform(W, -1, 1, 2);
    return function(xs, Ws, Variable(), F::ConvolutionOptions{.stride = 2, .pad = 1}).template to_vector<double>() ==
           F::convolution_nd(xs, Ws, Variable(), {.stride = 2, .pad = 1}).to_vector<double>();
  };
  CHECK(same(F::convolution_1d, {2, 3, 6}, {4, 3, 3}));
  CHECK(same(F::convolution_2d, {2, 3, 6, 5}, {4, 3, 3, 2}));
  CHECK(same(F::convolution_3d, {2, 3, 6, 5, 4}, {4, 3, 3, 2, 1}));
  const Array x = uniform({2, 3, 6, 5}, -1, 1), W = uniform({4, 3, 3, 2}, -1, 1);
  CHECK(F::dilated_convolution_2d(x, W, Variable(), {.dilate = 2}).to_vector<double>() ==
        F::convolution_2d(x, W, Variable(), {.dilate = 2}).to_vector<double>());
}

TEST_CASE("convolution with relu is relu of the convolution") {
  for (const ConvolutionCase& c : kConvolutionCases) {
    CAPTURE(to_string(c.x));
    F::ConvolutionOptions cut = c.options;
    cut.relu = true;
    for (const bool record : {false, true}) {
      const auto results = [&](auto function) {
        const Variable x(uniform(c.x, -1, 1, 1)), W(uniform(c.W, -1, 1, 2)), b(uniform({c.W[0]}, -1, 1, 3));
        Variable y = function(x, W, b);
        y.set_grad(uniform(c.y, -1, 1, 4));
        y.backward({.enable_double_backprop = record});
        std::vector<std::vector<double>> all = {y.to_vector<double>()};
        for (const Variable& v : {x, W, b}) all.push_back(v.grad().to_vector<double>());
        return all;
      };
      const auto fused = results([&](const auto&... in) { return F::convolution_nd(in..., cut); });
      CHECK(fused == results([&](const auto&... in) { return F::relu(F::convolution_nd(in..., c.options)); }));
    }
  }
}

TEST_CASE("convolution's gradients are the same whether they are recorded or not") {
  for (const ConvolutionCase& c : kConvolutionCases) {
    const auto gradients = [&](bool record) {
      const Variable x(uniform(c.x, -1, 1, 1)), W(uniform(c.W, -1, 1, 2)), b(uniform({c.W[0]}, -1, 1, 3));
      Variable y = F::convolution_nd(x, W, b, c.options);
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

TEST_CASE("convolution computes only the gradients that are wanted") {
  const Variable x(uniform({1, 2, 4, 4}, -1, 1), false), W(uniform({3, 2, 3, 3}, -1, 1)), b(uniform({3}, -1, 1), false);
  Variable y = F::convolution_2d(x, W, b);
  y.set_grad(ones({1, 3, 2, 2}, Dtype::float64, test_device()));
  y.backward();
  CHECK(W.grad().shape() == Shape{3, 2, 3, 3});
  CHECK(has_image_layout(W.grad()));
  CHECK_FALSE(x.grad().is_defined());
  CHECK_FALSE(b.grad().is_defined());
}

TEST_CASE("convolution takes x and W of different dtypes and gives x's") {
  const Variable x(ones({1, 2, 3, 3}, Dtype::float16, test_device())),
      W(ones({2, 2, 2, 2}, Dtype::float32, test_device())), b(ones({2}, Dtype::float16, test_device()));
  Variable y = F::convolution_2d(x, W, b);
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.to_vector<float>() == std::vector<float>(8, 9.0f));
  y.set_grad(ones({1, 2, 2, 2}, Dtype::float16, test_device()));
  y.backward({.enable_double_backprop = true});
  CHECK(x.grad().dtype() == Dtype::float16);
  CHECK(W.grad().dtype() == Dtype::float32);
  CHECK(b.grad().dtype() == Dtype::float16);
  CHECK(W.grad().to_vector<float>() == std::vector<float>(16, 4.0f));
}

TEST_CASE("convolution's rules") {
  const Array x = zeros({2, 4, 5, 5}, Dtype::float32, test_device()),
              W = zeros({6, 4, 3, 3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, zeros({6, 3, 3, 3}, Dtype::float32, test_device())),
                       "F::convolution_2d: x has shape (2, 4, 5, 5) but W has shape (6, 3, 3, 3): x.shape[1] must "
                       "equal W.shape[1] (4 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, W, Variable(), {.groups = 2}),
                       "F::convolution_2d: x has shape (2, 4, 5, 5) but W has shape (6, 4, 3, 3) and groups is 2: "
                       "x.shape[1] must equal W.shape[1] * groups (4 != 4 * 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(
      F::convolution_2d(x, zeros({5, 2, 3, 3}, Dtype::float32, test_device()), Variable(), {.groups = 2}),
      "F::convolution_2d: x has shape (2, 4, 5, 5) but W has shape (5, 2, 3, 3) and groups is 2: "
      "W.shape[0] must be a multiple of groups",
      TypeError);
  CHECK_THROWS_WITH_AS(
      F::convolution_2d(x, W, zeros({5}, Dtype::float32, test_device())),
      "F::convolution_2d: b has shape (5,) but W has shape (6, 4, 3, 3): b.shape[0] must equal W.shape[0] (5 != 6)",
      TypeError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, W, Variable(), {.stride = {1, 2, 3}}),
                       "F::convolution_2d: stride is (1, 2, 3): it must be one number or one for each of the 2 "
                       "spatial axes",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, W, Variable(), {.stride = {1, 0}}),
                       "F::convolution_2d: stride is (1, 0): each must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, W, Variable(), {.pad = -1}),
                       "F::convolution_2d: pad is (-1, -1): each must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, W, Variable(), {.groups = 0}),
                       "F::convolution_2d: groups is 0: it must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(x, zeros({6, 4, 3, 8}, Dtype::float32, test_device()), Variable(), {.pad = 1}),
                       "F::convolution_2d: x has shape (2, 4, 5, 5) but W has shape (6, 4, 3, 8): the kernel does not "
                       "fit into axis 3 with pad 1 and dilate 1 (the output would have size 0)",
                       ValueError);
  CHECK_THROWS_AS(F::convolution_2d(x, W, zeros({6}, Dtype::float64, test_device())), TypeError);
  CHECK_THROWS_AS(F::convolution_2d(x.astype(Dtype::int32), W), TypeError);
  CHECK_THROWS_AS(F::convolution_1d(x, W), TypeError);
  CHECK_THROWS_AS(F::convolution_2d(x, zeros({6, 4, 0, 3}, Dtype::float32, test_device())), TypeError);
  CHECK_THROWS_AS(
      F::convolution_nd(zeros({2, 4}, Dtype::float32, test_device()), zeros({6, 4}, Dtype::float32, test_device())),
      TypeError);
  CHECK_THROWS_AS(F::convolution_nd(x, zeros({6, 4, 3}, Dtype::float32, test_device())), TypeError);
}

}  // namespace
}  // namespace kusari::testing
