#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

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

namespace {

struct Layer {
  int64_t batch, in, out, size, kernel, stride, groups;

  kernels::Convolution geometry() const {
    kernels::Convolution g;
    g.ndim = 2;
    g.groups = groups;
    for (int i = 0; i < 2; ++i) {
      g.stride[i] = stride;
      g.dilate[i] = 1;
      g.pad[i] = kernel / 2;
    }
    return g;
  }
};

// One of each algorithm: Winograd's where it pays, oneDNN's direct one, depthwise loops, products of matrices.
constexpr Layer kLayers[] = {{1, 64, 64, 56, 3, 1, 1}, {2, 32, 48, 9, 3, 2, 1},  {1, 64, 256, 7, 1, 1, 1},
                             {1, 3, 20, 15, 7, 2, 1},  {2, 16, 16, 9, 3, 1, 16}, {1, 512, 96, 7, 1, 1, 1},
                             {2, 19, 19, 9, 5, 2, 19}, {1, 32, 24, 11, 3, 1, 2}, {1, 24, 33, 10, 3, 1, 1}};

Array draw(const Shape& shape, Dtype dtype) {
  return initializers::generate_array(initializers::Normal(1.0), shape, dtype, Device()).channels_last();
}

// y of the kernel, and what convolution, additions and ReLU give one after the other.
struct LayerResults {
  Array fused, separate;
};

// The bias is the convolution's own, or an addition after it.
enum class Bias { inner, after };

LayerResults run(const Layer& layer, Dtype dtype, Bias kind, bool has_z, bool relu) {
  kernels::Convolution g = layer.geometry();
  const int64_t size = (layer.size - 1) / layer.stride + 1;
  const Array x = draw({layer.batch, layer.in, layer.size, layer.size}, dtype);
  x.slice(0, 0, 1).slice(1, 0, 1).slice(2, 0, 1).slice(3, 0, 1).fill(std::numeric_limits<double>::quiet_NaN());
  const Array w = draw({layer.out, layer.in / layer.groups, layer.kernel, layer.kernel}, dtype);
  const Array bias = draw({layer.out}, Dtype::float32);
  const Shape shape = {layer.batch, layer.out, size, size};
  const Array z = has_z ? draw(shape, dtype) : Array();
  const LayerResults results = {empty_channels_last(shape, dtype), empty_channels_last(shape, dtype)};
  if (kind == Bias::inner) {
    launch<kernels::ConvolutionForward>(Device(), g, x, w, bias, results.separate);
  } else {
    launch<kernels::ConvolutionForward>(Device(), g, x, w, Array(), results.separate);
    const Array numbers = bias.astype(dtype).reshape({1, layer.out, 1, 1}).broadcast_to(shape);
    pointwise_to(results.separate, kernels::Add{}, results.separate, numbers);
    g.bias_comes_after = true;
  }
  if (has_z) pointwise_to(results.separate, kernels::Add{}, results.separate, z);
  if (relu) pointwise_to(results.separate, kernels::Relu{}, results.separate);
  const auto activation = relu ? kernels::ConvolutionActivation::relu : kernels::ConvolutionActivation::none;
  launch<kernels::ConvolutionFusedForward>(Device(), g, activation, x, w, z, bias, results.fused);
  return results;
}

}  // namespace

TEST_CASE("fused convolutions give the numbers of separate kernels, NaN too") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    for (const Layer& layer : kLayers) {
      for (const bool has_z : {false, true}) {
        for (const bool relu : {false, true}) {
          CAPTURE(std::string(name(dtype)));
          CAPTURE(layer.in);
          CAPTURE(layer.kernel);
          CAPTURE(has_z);
          CAPTURE(relu);
          const LayerResults results = run(layer, dtype, Bias::inner, has_z, relu);
          const auto fused = results.fused.astype(Dtype::float64).to_vector<double>();
          const auto separate = results.separate.astype(Dtype::float64).to_vector<double>();
          // The sums of half types are not rounded before z is added.
          const double tolerance = itemsize(dtype) == 2 ? 0.02 : 0;
          size_t wrong = 0, nans = 0;
          for (size_t i = 0; i < fused.size(); ++i) {
            const bool is_nan = std::isnan(separate[i]);
            nans += is_nan ? 1 : 0;
            const double allowed = tolerance * (4 + std::abs(separate[i]));
            if (is_nan ? !std::isnan(fused[i]) : !(std::abs(fused[i] - separate[i]) <= allowed)) ++wrong;
          }
          CHECK(wrong == 0);
          CHECK(nans > 0);
        }
      }
    }
  }
}

TEST_CASE("convolutions with a function give the numbers of separate kernels") {
  const auto check = [](const auto& op) {
    using Op = std::remove_cvref_t<decltype(op)>;
    for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
      for (const Layer& layer : kLayers) {
        for (const bool has_z : {false, true}) {
          CAPTURE(std::string(name(dtype)));
          CAPTURE(layer.in);
          CAPTURE(layer.kernel);
          CAPTURE(has_z);
          const int64_t size = (layer.size - 1) / layer.stride + 1;
          const Array x = draw({layer.batch, layer.in, layer.size, layer.size}, dtype);
          const Array w = draw({layer.out, layer.in / layer.groups, layer.kernel, layer.kernel}, dtype);
          const Array bias = draw({layer.out}, Dtype::float32);
          const Shape shape = {layer.batch, layer.out, size, size};
          const Array z = has_z ? draw(shape, dtype) : Array();
          const Array separate = empty_channels_last(shape, dtype), fused = empty_channels_last(shape, dtype);
          launch<kernels::ConvolutionFusedForward>(Device(), layer.geometry(), kernels::ConvolutionActivation::none, x,
                                                   w, z, bias, separate);
          pointwise_to(separate, op, separate);
          kernels::UnaryFunctor function;
          function.kernel = kernel_id<kernels::Pointwise<Op>>();
          std::memcpy(function.functor, &op, sizeof(op));
          launch<kernels::ConvolutionFunctionForward>(Device(), layer.geometry(), function, x, w, z, bias, fused);
          const auto expected = separate.astype(Dtype::float64).template to_vector<double>();
          const auto found = fused.astype(Dtype::float64).template to_vector<double>();
          // In float16 the sums are not rounded before the function is computed.
          const double tolerance = itemsize(dtype) == 2 ? 0.02 : 0;
          size_t wrong = 0;
          for (size_t i = 0; i < found.size(); ++i) {
            if (!(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])))) ++wrong;
          }
          CHECK(wrong == 0);
        }
      }
    }
  };
  check(kernels::ClippedRelu{0.7});
  check(kernels::Clip{-0.3, 0.7});
  check(kernels::Silu{});
  check(kernels::HardSigmoid{0.25, 0.4});
}

TEST_CASE("a clipped ReLU inside of a convolution keeps NaN, and gives 0 for -0") {
  const Array x = array<float>({std::numeric_limits<float>::quiet_NaN(), -0.0f, -1, 9}, {1, 1, 2, 2});
  const Array w = array<float>({1}, {1, 1, 1, 1}), y = empty({1, 1, 2, 2}, Dtype::float32);
  kernels::Convolution g;
  g.ndim = 2;
  for (int i = 0; i < 2; ++i) g.stride[i] = g.dilate[i] = 1;
  const kernels::ClippedRelu op{6};
  kernels::UnaryFunctor function;
  function.kernel = kernel_id<kernels::Pointwise<kernels::ClippedRelu>>();
  std::memcpy(function.functor, &op, sizeof(op));
  launch<kernels::ConvolutionFunctionForward>(Device(), g, function, x, w, Array(), Array(), y);
  const auto results = y.to_vector<float>();
  CHECK(std::isnan(results[0]));
  for (int i : {1, 2}) CHECK((results[static_cast<size_t>(i)] == 0 && !std::signbit(results[static_cast<size_t>(i)])));
  CHECK(results[3] == 6);
}

TEST_CASE("fused convolutions: a bias that comes after gives the bits of a separate addition") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const Layer& layer : kLayers) {
      for (const bool has_z : {false, true}) {
        for (const bool relu : {false, true}) {
          CAPTURE(std::string(name(dtype)));
          CAPTURE(layer.in);
          CAPTURE(layer.kernel);
          CAPTURE(has_z);
          CAPTURE(relu);
          const LayerResults results = run(layer, dtype, Bias::after, has_z, relu);
          const auto fused = results.fused.astype(Dtype::float64).to_vector<double>();
          const auto separate = results.separate.astype(Dtype::float64).to_vector<double>();
          size_t wrong = 0;
          for (size_t i = 0; i < fused.size(); ++i) {
            if (std::isnan(separate[i]) ? !std::isnan(fused[i]) : fused[i] != separate[i]) ++wrong;
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

}  // namespace kusari
