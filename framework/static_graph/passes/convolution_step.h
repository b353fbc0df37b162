#pragma once

#include <optional>

#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A forward convolution of a program, with or without additions and ReLU.
struct ConvolutionStep {
  kernels::Convolution geometry;
  kernels::ConvolutionActivation activation = kernels::ConvolutionActivation::none;
  View x, W, z, bias, y;

  /// Nothing if the step is another kernel.
  static std::optional<ConvolutionStep> of(const Step& step);
  /// Whether y is the convolution plus bias alone, in whatever order a sum with the bias is taken.
  bool is_plain() const noexcept {
    return activation == kernels::ConvolutionActivation::none && !z.is_defined() && !geometry.bias_comes_after;
  }
  Step step(const Device& device, Phase phase) const;
};

}  // namespace kusari::graphs
