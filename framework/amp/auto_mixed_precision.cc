#include "kusari/framework/amp/auto_mixed_precision.h"

#include <memory>
#include <string>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/error.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::amp {

void auto_mixed_precision(Optimizer& optimizer, const AutoMixedPrecisionOptions& options) {
  if (!is_half(options.dtype)) {
    throw ValueError(std::string("amp::auto_mixed_precision: dtype is ") + name(options.dtype) +
                     ": it must be float16 or bfloat16");
  }
  if (optimizer.has_loss_scaling()) {
    throw StateError(std::string("amp::auto_mixed_precision: this ") + optimizer.name() +
                     " scales the loss already; call its no_loss_scaling() first");
  }
  if (options.dtype == Dtype::float16) {
    optimizer.loss_scaling({.interval = options.growth_interval,
                            .growth = LossScaleGrowth::stepwise,
                            .initial_scale = options.initial_scale});
  }
  const auto make = [dtype = options.dtype]() -> Optimizer::ForwardScope {
    return std::make_shared<Autocast>(AutocastOptions{.dtype = dtype, .lists = &tensorflow_lists()});
  };
  optimizer.set_forward_scope(make, true);
}

}  // namespace kusari::amp
