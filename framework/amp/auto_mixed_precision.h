#pragma once

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"

namespace kusari {
class Optimizer;
}

namespace kusari::amp {

/// TensorFlow's numbers.
struct AutoMixedPrecisionOptions {
  Dtype dtype = Dtype::float16;   ///< bfloat16 needs no loss scaling, and gets none
  double initial_scale = 32768;   ///< of the loss
  double growth_interval = 2000;  ///< steps without overflow after which the scale doubles
};

/// Mixed precision in one line. From now on optimizer.update(lossfun, ...), and so every updater, runs the lossfun in
/// an Autocast with tensorflow_lists(), which decide for each function of the float32 model whether it runs in 16 bits,
/// and scales the loss dynamically; steps that overflowed are skipped on the device.
///
///     optimizer.setup(model);
///     amp::auto_mixed_precision(optimizer);
///
/// Throws ValueError for options out of their range, StateError when the optimizer scales its loss already.
/// tf.train.experimental.enable_mixed_precision_graph_rewrite.
KUSARI_API void auto_mixed_precision(Optimizer& optimizer, const AutoMixedPrecisionOptions& options = {});

}  // namespace kusari::amp
