#include "kusari/framework/training/extensions/exponential_moving_average.h"

#include <algorithm>

#include "kusari/framework/core/argument.h"

namespace kusari::training::extensions {

ExponentialMovingAverage::ExponentialMovingAverage(Link& model, const ExponentialMovingAverageOptions& options)
    : ModelAverage(model, "ExponentialMovingAverage", options.persistents),
      decay_{argument::require(options.decay >= 0 && options.decay < 1, "ExponentialMovingAverage", "decay",
                               options.decay, "be in [0, 1)")},
      warmup_{options.warmup} {}

void ExponentialMovingAverage::update() {
  const auto steps = static_cast<double>(t());
  take(warmup_ ? std::min(decay_, (1 + steps) / (10 + steps)) : decay_);
}

}  // namespace kusari::training::extensions
