#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/optimizers/loss_scale.h"

namespace kusari {
class Optimizer;
class Serializer;
}  // namespace kusari

namespace kusari::amp {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;        ///< of the scale after growth_interval iterations without an overflow, > 1
  double backoff_factor = 0.5;     ///< of the scale after an iteration with one, in (0, 1)
  int64_t growth_interval = 2000;  ///< in iterations
  bool enabled = true;  ///< false: scale() returns the loss, step() is optimizer.update(), nothing else happens
};

/// Loss scaling by hand, in PyTorch's steps. Gradients that are too small for float16 survive the backward pass because
/// the loss is multiplied; a step whose gradients overflowed is skipped and makes the scale smaller.
///
///     amp::GradScaler scaler;
///     ...
///     model.cleargrads();
///     scaler.scale(loss).backward();
///     scaler.unscale_(optimizer);  // only for those who look at gradients or change them
///     scaler.step(optimizer);
///     scaler.update();
///
/// The optimizer's own loss scaling must be off. Scale, counters and the check of gradients stay on the device: none of
/// these four calls waits for it. Each optimizer skips by its own gradients; the scale is one for all. torch.amp's
/// GradScaler, with two differences: step() takes float16 gradients (the optimizer divides them in float32), and an
/// optimizer's hooks always see gradients without the scale.
class KUSARI_API GradScaler {
 public:
  GradScaler() : GradScaler(GradScalerOptions{}) {}
  /// Throws ValueError for an option out of its range.
  explicit GradScaler(const GradScalerOptions& options);
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;
  GradScaler(GradScaler&&) noexcept = default;
  GradScaler& operator=(GradScaler&&) noexcept = default;

  /// loss times the scale; a 16-bit loss becomes float32 before, for 65536 is no float16. Differentiable.
  Variable scale(const Variable& loss);
  Variables scale(const Variables& losses);
  /// Divides the gradients of the optimizer's parameters by the scale, once all of them have been computed. Throws
  /// StateError for a second call between two updates, after step(), and before any scale(); ValueError for float16
  /// gradients, of which small ones would become zero again.
  void unscale_(Optimizer& optimizer);
  /// optimizer.update() with gradients divided by the scale, unless unscale_ has done that; nothing changes when a
  /// gradient was infinite or NaN at the time of unscale_, or without that, is now. Throws StateError for a second call
  /// between two updates, before any scale(), without any gradient, and when the optimizer scales the loss itself.
  void step(Optimizer& optimizer);
  /// Ends the iteration: the scale grows or shrinks by what the steps since the last update found, or becomes
  /// new_scale. Throws StateError when there was neither step() nor unscale_() and no new_scale is given.
  void update(std::optional<double> new_scale = std::nullopt);

  /// The scale; 1 when disabled. Waits for the device.
  double get_scale() const;
  double get_growth_factor() const noexcept { return options_.growth_factor; }
  void set_growth_factor(double factor);
  double get_backoff_factor() const noexcept { return options_.backoff_factor; }
  void set_backoff_factor(double factor);
  int64_t get_growth_interval() const noexcept { return options_.growth_interval; }
  void set_growth_interval(int64_t interval);
  /// Iterations without overflow since the scale last changed. Waits for the device.
  int64_t get_growth_tracker() const;
  bool is_enabled() const noexcept { return options_.enabled; }

  /// scale, growth_factor, backoff_factor, growth_interval and _growth_tracker, as torch's state_dict; nothing when
  /// disabled. Call it after update(). Reading what a disabled one wrote throws StateError.
  void serialize(Serializer& serializer);

 private:
  enum class Stage : uint8_t { ready, unscaled, stepped };
  struct OptimizerState {
    const Optimizer* optimizer;
    Stage stage = Stage::ready;
    Array squared_norm = {};  // of its gradients; not finite if one of them is not
  };

  LossScale& created_scale(const char* call);
  OptimizerState& state_of(const Optimizer& optimizer);
  void check_gradients(const char* call, Optimizer& optimizer, OptimizerState& state);
  kernels::LossScaleRule rule() const noexcept;

  GradScalerOptions options_;
  LossScale scale_;
  bool is_created_ = false;             // by the first scale()
  std::vector<OptimizerState> states_;  // of this iteration
};

}  // namespace kusari::amp
