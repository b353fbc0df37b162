#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer.h"

namespace kusari::kernels {

/// A step of an optimizer (see optimizer.h) for many tensors at once. `numbers`: the functor's members, float64: one
/// row for all tensors, or (n, members) with a row for each. With n read-only tensors, `arrays` are the n tensors of
/// the functor's second argument, then the n of the third, and so on. Tensors of one index have equal shapes and memory
/// order, all are dense and of one floating dtype; 16-bit ones are computed in float32. `guard`: undefined, or one
/// float64 element; unless that is finite, nothing is changed.
template <class Op>
struct OptimizerStep {
  static constexpr const char* kName = Op::kName;
  using Signature = void(DeviceScalar numbers, In guard, InList read, InOutList arrays);
};

/// to[i] = from[i] converted to another dtype, then multiplied by `factor`, for many tensors at once. Tensors of one
/// index have equal shapes and memory order, all are dense; `from` are of one floating dtype, `to` of another.
struct ConvertTensors {
  static constexpr const char* kName = "convert_tensors";
  using Signature = void(Params<double> factor, InList from, InOutList to);
};

/// Sums of squares in float64: with n tensors, y of shape (n) has the sum of each, and y of one element the sum of all.
/// The tensors are dense and floating.
struct SquaredNorm {
  static constexpr const char* kName = "squared_norm";
  using Signature = void(InList x, Out y);
};

/// From the squared norm of all gradients, (), to the numbers of ScaleHook, (1); float64.
struct GradientClippingNumbers {
  static constexpr const char* kName = "gradient_clipping_numbers";
  using Signature = void(In squared_norm, Params<ClippingRate> rate, Out numbers);
};

/// From the squared norms of n parameters and of their gradients, (n), to the numbers of LarsHook, (n, 2); float64.
struct GradientLarsNumbers {
  static constexpr const char* kName = "gradient_lars_numbers";
  using Signature = void(In parameters, In gradients, Params<LarsRate> rate, Out numbers);
};

}  // namespace kusari::kernels
