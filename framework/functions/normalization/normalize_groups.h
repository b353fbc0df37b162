#pragma once

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/normalization.h"

namespace kusari::functions {

/// y = gamma (x - mean) / sqrt(variance + eps) + beta for inputs x (N, C, ...), gamma and beta (C), with the mean and
/// variance of each group of channels of each example. Sums are in float64. A subclass names and checks.
class NormalizeGroups : public FunctionNode {
 public:
  void describe(Attributes& options) const override;

 protected:
  explicit NormalizeGroups(const kernels::GroupNormalizationOptions& options) : options_{options} {}

  Arrays forward(const ArrayRefs& in) override;
  Variables backward(const Variables& gy) override;

  kernels::GroupNormalizationOptions options_;

 private:
  Variables differentiable_gradients(const Variable& gy);
  Variables fused_gradients(const Array& gy);

  Array mean_, inv_std_;
  Dtype wide_ = Dtype::float32;  // of the arithmetic
};

}  // namespace kusari::functions
