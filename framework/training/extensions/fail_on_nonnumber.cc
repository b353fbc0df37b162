#include "kusari/framework/training/extensions/fail_on_nonnumber.h"

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {
namespace {

bool is_finite(const Array& parameter) {
  if (!parameter.is_floating()) return true;
  return reduce_as(Dtype::float32, kernels::CountNonfinite{}, parameter, AxisMask::all(parameter.ndim()))
             .item<float>() == 0;
}

}  // namespace

void FailOnNonNumber::operator()(Trainer& trainer) {
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    for (const auto& [path, parameter] : optimizer->target().namedparams(false)) {
      if (!is_finite(parameter->array())) {
        throw ValueError("FailOnNonNumber: parameter " + path + " of optimizer '" + name +
                         "' holds NaN or an infinity: the training has diverged");
      }
    }
  }
}

}  // namespace kusari::training::extensions
