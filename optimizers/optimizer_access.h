#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"

namespace kusari {

class LossScale;
class Optimizer;
class Variable;

namespace detail {

/// The parts of a step for those who scale the loss outside of the optimizer. Nothing here waits for a device.
struct KUSARI_API OptimizerAccess {
  /// What the optimizer's next backward multiplies `loss` by: one float64 element on its device, the loss scale as the
  /// loss's dtype holds it; undefined without loss scaling. Throws StateError when it scales as Chainer does.
  static Array seed(Optimizer& optimizer, const Variable& loss);
  /// The loss scale of an optimizer that keeps it on the device; null for others.
  static LossScale* loss_scale(Optimizer& optimizer) noexcept;
  /// The sum of squares of all gradients as they are: one float64 element; undefined without any gradient.
  static Array squared_norm(Optimizer& optimizer);
  /// Divides all gradients by `loss_scale`, one float64 element, in place.
  static void unscale(Optimizer& optimizer, const Array& loss_scale);
  /// A step from gradients that carry `loss_scale` (undefined: none), which changes nothing unless `guard`, one float64
  /// element, is finite. Throws StateError when the optimizer scales the loss itself.
  static void update(Optimizer& optimizer, const Array& guard, const Array& loss_scale);
};

}  // namespace detail
}  // namespace kusari
