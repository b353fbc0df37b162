#pragma once

#include <cstdint>
#include <optional>

namespace kusari {

/// How a dynamic loss scale grows: a little at every step, as in Chainer, which doubles it at every step until the
/// first overflow and keeps it in [1, 65504]; or by a factor after `interval` steps without overflow, as PyTorch's
/// GradScaler.
enum class LossScaleGrowth : uint8_t { continuous, stepwise };

/// Options of Optimizer::loss_scaling.
struct LossScalingOptions {
  /// Dynamic scaling: after this many steps without overflow the scale has grown by growth_factor.
  double interval = 1000;
  /// A fixed scale instead of a dynamic one.
  std::optional<double> scale = std::nullopt;
  /// Do exactly what Chainer does: hooks see scaled gradients of the parameters' own dtype, a fixed scale applies steps
  /// that overflowed, a dynamic one counts them, the scale starts at 1, and the host waits for every step.
  bool chainer_compatible = false;
  LossScaleGrowth growth = LossScaleGrowth::continuous;
  /// Of dynamic scaling: 32768 if not given, 65536 for stepwise growth, 1 for chainer_compatible.
  std::optional<double> initial_scale = std::nullopt;
  double growth_factor = 2;
  double backoff_factor = 0.5;  ///< of the scale after a step that overflowed
};

}  // namespace kusari
