#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/loss_scale.h"
#include "kusari/framework/kernels/optimizer.h"

namespace kusari::kernels {

/// A step of an optimizer (see optimizer.h) for many tensors at once. `numbers`: the functor's members, float64: one
/// row for all tensors, or (n, members) with a row for each. With n read-only tensors, `arrays` are the n tensors of
/// the functor's second argument, then the n of the third, and so on. Tensors of one index have equal shapes and memory
/// order, all are dense and of one floating dtype; 16-bit ones are computed in float32. If the arrays are float32, the
/// read-only tensors may be 16-bit ones. `guard`: undefined, or one float64 element; unless that is finite, nothing is
/// changed. `loss_scale`: undefined, or one float64 element, by which the read-only tensors are divided as they are
/// read. `copies`: none, or n 16-bit tensors that receive the new values of the functor's second argument, which is
/// float32 then.
template <class Op>
struct OptimizerStep {
  static constexpr const char* kName = Op::kName;
  using Signature = void(DeviceScalar numbers, In guard, In loss_scale, InList read, InOutList arrays,
                         InOutList copies);
};

/// The numbers of a step that depend on its count: `schedule` holds the members of Schedule, a functor of optimizer.h,
/// and then a count of steps from which `skipped`, one float64 element, is subtracted; all float64.
template <class Schedule>
struct StepNumbers {
  static constexpr const char* kName = Schedule::kName;
  using Signature = void(DeviceScalar schedule, In skipped, Out numbers);
};

/// What a step does to a LossScaleState, (5) float64, given the squared norm of its gradients, one float64 element.
struct LossScaleUpdate {
  static constexpr const char* kName = "loss_scale_update";
  using Signature = void(In squared_norm, Params<LossScaleRule> rule, InOut state);
};

/// to[i] = from[i] converted to another dtype, then multiplied by `factor` and divided by `loss_scale`, one float64
/// element or undefined, for many tensors at once. Tensors of one index have equal shapes and memory order, all are
/// dense; `from` are of one floating dtype, `to` of one too. to[i] may be from[i].
struct ConvertTensors {
  static constexpr const char* kName = "convert_tensors";
  using Signature = void(Params<double> factor, In loss_scale, InList from, InOutList to);
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

/// Rows of numbers for an OptimizerStep, (n, members of Rule::Step), from the squared norms of n parameters and of n
/// other tensors, (n), the latter divided by loss_scale, one element or undefined. `numbers`: the members of Rule, a
/// functor of optimizer.h. All float64.
template <class Rule>
struct LayerNumbers {
  static constexpr const char* kName = Rule::kName;
  using Signature = void(DeviceScalar numbers, In parameters, In others, In loss_scale, Out rows);
};

}  // namespace kusari::kernels
