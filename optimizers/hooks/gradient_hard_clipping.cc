#include "kusari/optimizers/hooks/gradient_hard_clipping.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

GradientHardClipping::GradientHardClipping(const GradientHardClippingOptions& options)
    : GradientHardClippingOptions{options} {
  if (!(lower_bound <= upper_bound)) {
    throw ValueError("GradientHardClipping: lower_bound is " + general_text(lower_bound) + " and upper_bound is " +
                     general_text(upper_bound) + ": lower_bound must be at most upper_bound");
  }
}

void GradientHardClipping::operator()(std::span<Parameter* const> parameters) const {
  change_gradients(parameters, kernels::HardClippingHook{lower_bound, upper_bound});
}

}  // namespace kusari::optimizer_hooks
