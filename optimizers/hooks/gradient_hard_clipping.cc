#include "kusari/optimizers/hooks/gradient_hard_clipping.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

void GradientHardClipping::operator()(std::span<Parameter* const> parameters) const {
  change_gradients(parameters, kernels::HardClippingHook{lower_bound, upper_bound});
}

}  // namespace kusari::optimizer_hooks
