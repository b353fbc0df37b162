#pragma once

#include <optional>

#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A forward convolution of a program, with or without additions and a function in the end. Or the product of a dense
/// matrix x of float32 numbers and one that is shared by all its rows, which is a convolution over rows.
struct ConvolutionStep {
  kernels::Convolution geometry;
  kernels::ConvolutionActivation activation = kernels::ConvolutionActivation::none;
  kernels::UnaryFunctor function = {};  ///< instead of an activation; kernel.index < 0: none
  View x, W, z, bias, y;                ///< of a product: x (..., K), W (N, K) or (K, N), z and y (..., N)
  bool is_product = false;
  bool is_W_transposed = false;  ///< of a product: W is (K, N)

  /// Nothing if the step is another kernel.
  static std::optional<ConvolutionStep> of(const Step& step);
  /// With fewer rows than that, reading float32 weights bounds the time of a product.
  static constexpr int64_t kFewestRows = 4;
  /// The same of a product of at least so many rows.
  static std::optional<ConvolutionStep> of_product(const Step& step, int64_t fewest_rows = kFewestRows);
  /// Whether y is the convolution plus bias alone, in whatever order a sum with the bias is taken.
  bool is_plain() const noexcept { return !ends() && !z.is_defined() && !geometry.bias_comes_after; }
  /// Whether a function of the sum comes already.
  bool ends() const noexcept {
    return activation != kernels::ConvolutionActivation::none || function.kernel.index >= 0;
  }
  /// The axis of y that the bias and the rows of W belong to.
  int channel_axis() const noexcept { return is_product ? y.shape.ndim() - 1 : 1; }
  /// Of a product, as a convolution; W must be (N, K), row by row.
  Step step(const Device& device, Phase phase) const;
};

}  // namespace kusari::graphs
