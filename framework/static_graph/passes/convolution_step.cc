#include "kusari/framework/static_graph/passes/convolution_step.h"

#include <utility>

namespace kusari::graphs {

using kernels::ConvolutionActivation;
using kernels::ConvolutionForward;
using kernels::ConvolutionFunctionForward;
using kernels::ConvolutionFusedForward;

namespace {

bool is_dense_matrix(const View& view) {
  return view.is_defined() && view.dtype == Dtype::float32 && view.shape.ndim() >= 2 && numel(view.shape) > 0 &&
         view.strides == contiguous_strides(view.shape);
}

/// Rows (..., C) as the positions of one image: (1, C, rows).
View as_positions(const View& view) {
  if (!view.is_defined()) return view;
  View result = view;
  const int64_t channels = view.shape[view.shape.ndim() - 1], rows = numel(view.shape) / channels;
  result.shape = {1, channels, rows};
  result.strides = {rows * channels, 1, channels};
  return result;
}

}  // namespace

std::optional<ConvolutionStep> ConvolutionStep::of(const Step& step) {
  if (step.is_code()) return std::nullopt;
  const auto view = [&](size_t operand) { return step.operands[operand].views[0]; };
  const auto is = [&](KernelId id) { return step.id.index == id.index; };
  if (is(kernel_id<ConvolutionForward>())) {
    return ConvolutionStep{.geometry = step.params<kernels::Convolution>(0),
                           .x = view(1),
                           .W = view(2),
                           .z = {},
                           .bias = view(3),
                           .y = view(4)};
  }
  if (is(kernel_id<ConvolutionFusedForward>())) {
    return ConvolutionStep{.geometry = step.params<kernels::Convolution>(0),
                           .activation = step.params<ConvolutionActivation>(1),
                           .x = view(2),
                           .W = view(3),
                           .z = view(4),
                           .bias = view(5),
                           .y = view(6)};
  }
  if (is(kernel_id<ConvolutionFunctionForward>())) {
    return ConvolutionStep{.geometry = step.params<kernels::Convolution>(0),
                           .function = step.params<kernels::UnaryFunctor>(1),
                           .x = view(2),
                           .W = view(3),
                           .z = view(4),
                           .bias = view(5),
                           .y = view(6)};
  }
  return std::nullopt;
}

std::optional<ConvolutionStep> ConvolutionStep::of_product(const Step& step, int64_t fewest_rows) {
  if (step.is_code() || step.id.index != kernel_id<kernels::Matmul>().index) return std::nullopt;
  const auto view = [&](size_t operand) { return step.operands[operand].views[0]; };
  const View x = view(0), bias = view(2), y = view(4);
  View W = view(1);
  auto options = step.params<kernels::MatmulOptions>(3);
  if (W.shape.ndim() == 2 && W.strides[0] == 1 && W.strides[1] != 1) {  // a transposed view, as of ONNX's Gemm
    std::swap(W.shape[0], W.shape[1]);
    std::swap(W.strides[0], W.strides[1]);
    options.transb = !options.transb;
  }
  if (options.transa || !is_dense_matrix(x) || !is_dense_matrix(W) || !is_dense_matrix(y)) return std::nullopt;
  if (W.shape.ndim() != 2 || x.shape.ndim() != y.shape.ndim()) return std::nullopt;
  if (bias.is_defined() && (bias.dtype != Dtype::float32 || bias.strides[0] != 1)) return std::nullopt;
  const int64_t rows = numel(x.shape) / x.shape[x.shape.ndim() - 1];
  if (rows < fewest_rows || rows != numel(y.shape) / y.shape[y.shape.ndim() - 1]) return std::nullopt;
  ConvolutionStep result;
  result.x = x;
  result.W = W;
  result.bias = bias;
  result.y = y;
  result.is_product = true;
  result.is_W_transposed = !options.transb;
  result.geometry.ndim = 1;
  result.geometry.stride[0] = result.geometry.dilate[0] = 1;
  result.geometry.weights_are_fixed = true;
  return result;
}

Step ConvolutionStep::step(const Device& device, Phase phase) const {
  if (is_product) {
    ConvolutionStep convolution = *this;
    convolution.is_product = false;
    convolution.x = as_positions(x);
    convolution.z = as_positions(z);
    convolution.y = as_positions(y);
    convolution.W.shape = {W.shape[0], W.shape[1], 1};
    convolution.W.strides = {W.shape[1], 1, W.shape[1]};
    return convolution.step(device, phase);
  }
  const auto in = [](const View& view) { return operand_of(LaunchArgument::Kind::in, view); };
  const Operand result = operand_of(LaunchArgument::Kind::out, y);
  if (is_plain()) {
    return make_step<ConvolutionForward>(device, phase, {params_of(geometry), in(x), in(W), in(bias), result});
  }
  if (function.kernel.index >= 0) {
    return make_step<ConvolutionFunctionForward>(
        device, phase, {params_of(geometry), params_of(function), in(x), in(W), in(z), in(bias), result});
  }
  return make_step<ConvolutionFusedForward>(
      device, phase, {params_of(geometry), params_of(activation), in(x), in(W), in(z), in(bias), result});
}

}  // namespace kusari::graphs
