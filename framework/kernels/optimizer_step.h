#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// A step of an optimizer (see optimizer.h) for many tensors at once. `numbers`: the functor's members, float64. With n
/// read-only tensors, `arrays` are the n tensors of the functor's second argument, then the n of the third, and so on.
/// Tensors of one index have equal shapes and memory order, all are dense and of one floating dtype; 16-bit ones are
/// computed in float32.
template <class Op>
struct OptimizerStep {
  static constexpr const char* kName = Op::kName;
  using Signature = void(DeviceScalar numbers, InList read, InOutList arrays);
};

/// y = the sum of squares of all elements, in float64; `y` has one float64 element. The tensors are dense and floating.
struct SquaredNorm {
  static constexpr const char* kName = "squared_norm";
  using Signature = void(InList x, Out y);
};

}  // namespace kusari::kernels
