#pragma once

#include "kusari/framework/kernels/math_basic.h"

// Loss scaling as the device keeps it: the scale, its counters and what was found in the last gradients are five
// float64 numbers in device memory, so that no step waits for the host.
namespace kusari::kernels {

struct LossScaleState {
  double scale;
  double growth_tracker;  // finite steps since the scale last grew or shrank
  double skipped;         // steps whose gradients were not finite
  double overflowed;      // 1 once there was such a step
  double finite;          // 1 if the last gradients were finite
};

/// What a step does to the state. GradScaler's rule: {2, 0.5, 2000, tiny, infinity, 0}; Chainer's: {2^(1/interval),
/// 0.5, 1, 1, 65504, 2}; a fixed scale: {1, 1, 1, 0, infinity, 0}.
struct LossScaleRule {
  double growth_factor;    // after growth_interval finite steps in a row
  double backoff_factor;   // after a step that was not finite
  double growth_interval;  // in steps
  double min, max;
  double warmup;  // factor of every step until the first that is not finite; 0: none

  /// `squared_norm`: of all gradients.
  KUSARI_HOST_DEVICE LossScaleState operator()(LossScaleState s, double squared_norm) const {
    s.finite = km::isfinite(squared_norm) ? 1 : 0;
    double next = s.scale;
    if (s.finite == 0) {
      next *= backoff_factor;
      s.growth_tracker = 0;
      s.skipped += 1;
      s.overflowed = 1;
    } else if (warmup != 0 && s.overflowed == 0) {
      next *= warmup;
    } else if (s.growth_tracker + 1 >= growth_interval) {
      next *= growth_factor;
      s.growth_tracker = 0;
    } else {
      s.growth_tracker += 1;
    }
    if (km::isfinite(static_cast<float>(next))) s.scale = next;  // a float32 seed must hold it
    s.scale = km::min(km::max(s.scale, min), max);
    return s;
  }
};

}  // namespace kusari::kernels
