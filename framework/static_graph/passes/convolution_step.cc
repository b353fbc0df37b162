#include "kusari/framework/static_graph/passes/convolution_step.h"

namespace kusari::graphs {

using kernels::ConvolutionActivation;
using kernels::ConvolutionForward;
using kernels::ConvolutionFusedForward;

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
  return std::nullopt;
}

Step ConvolutionStep::step(const Device& device, Phase phase) const {
  const auto in = [](const View& view) { return operand_of(LaunchArgument::Kind::in, view); };
  if (is_plain()) {
    return make_step<ConvolutionForward>(
        device, phase, {params_of(geometry), in(x), in(W), in(bias), operand_of(LaunchArgument::Kind::out, y)});
  }
  return make_step<ConvolutionFusedForward>(device, phase,
                                            {params_of(geometry), params_of(activation), in(x), in(W), in(z), in(bias),
                                             operand_of(LaunchArgument::Kind::out, y)});
}

}  // namespace kusari::graphs
