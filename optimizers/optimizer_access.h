#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/optimizers/batch_part.h"
#include "kusari/optimizers/gradient_exchange.h"
#include "kusari/optimizers/state_shards.h"

namespace kusari {

class Link;
class LossScale;
class Optimizer;
class Variable;

namespace detail {

/// What a gradient was multiplied by: a factor in device memory if defined, else one that the host knows.
struct GradientScale {
  Array device = {};
  double host = 1;

  bool operator==(const GradientScale& other) const { return device.is_same(other.device) && host == other.host; }
};

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

  /// The numbers of the last step's kernels, float64, on their device, where that alone knows how many steps there
  /// were; undefined where the host does, and before the first step.
  static Array step_numbers(const Optimizer& optimizer);

  // For several processes.

  static void attach_exchange(Optimizer& optimizer, std::shared_ptr<GradientExchange> exchange);
  /// Null without one.
  static GradientExchange* exchange(const Optimizer& optimizer) noexcept;
  /// Where each rank has a part of the optimizer's state: gives the root, or all ranks, the whole of it, until the next
  /// step. Collective.
  static void gather_state(Optimizer& optimizer, bool everywhere);
  /// StateShards::assign for the step to come, and of which members. Collective where these have changed.
  static std::vector<StateShards::Member> assign_shards(Optimizer& optimizer);
  /// Whether nobody looks at whole gradients in the step to come.
  static bool may_divide_gradients(const Optimizer& optimizer) noexcept;
  /// Whether batches are computed in parts, and a step for the losses of these: see GradientExchangeOptions::parts.
  static bool has_parts(const Optimizer& optimizer) noexcept;
  static void update_in_parts(Optimizer& optimizer, int64_t examples, const LossOfPart& loss_of);
  /// The gradients to come are of so many more examples.
  static void note_examples(Optimizer& optimizer, int64_t examples);
  /// The next step begins with a batch of so many: what was noted for one that failed does not count.
  static void begin_examples(Optimizer& optimizer, int64_t examples);

  // For reports.

  /// Names and values of the hyperparameters.
  static std::vector<std::pair<std::string, double>> hyperparameters(Optimizer& optimizer);
  /// Names of the hooks, in their order.
  static std::vector<std::string> hooks(const Optimizer& optimizer);

  // For static graphs of whole steps.

  /// Why steps cannot be replayed; empty: they can.
  static std::string obstacle(const Optimizer& optimizer);
  /// Another number whenever hooks, observers or options change.
  static uint64_t settings(const Optimizer& optimizer) noexcept;
  /// What a replay opens around itself to find the settings of the forward computation: the forward scope, unless that
  /// is known to be the same each time.
  static std::shared_ptr<void> changing_forward_scope(const Optimizer& optimizer);
  /// Whether gradients are exchanged with other processes. Then, for each step: whether hooks, observers or options are
  /// new, so that what they do must show in a step that is not recorded; what all ranks do; and what a replay opens
  /// around itself: this rank's random numbers.
  static bool exchanges(const Optimizer& optimizer) noexcept;
  static bool has_new_settings(const Optimizer& optimizer) noexcept;
  static GradientExchange::StaticStep begin_static_step(Optimizer& optimizer, int stage);
  static std::shared_ptr<void> rank_scope(const Optimizer& optimizer);

  // For copies of the target that compute parts of the gradients. What takes the optimizer const may be called by
  // several threads at once.

  /// Calls a model of the target's class as call_target() calls the target.
  static Variable call(const Optimizer& optimizer, Link& model, const ModelInputs& inputs);
  /// What the optimizer's next backward multiplies losses on `device` by.
  static GradientScale gradient_scale(Optimizer& optimizer, const Device& device);
  /// Optimizer::accumulate for a copy of the target.
  static void accumulate(const Optimizer& optimizer, const Callable<Variable()>& lossfun, double weight,
                         const GradientScale& scale);
};

}  // namespace detail
}  // namespace kusari
