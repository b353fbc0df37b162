#include "kusari/optimizers/hooks/gradient_clipping.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

GradientClipping::GradientClipping(const GradientClippingOptions& options) : GradientClippingOptions{options} {
  if (!(threshold >= 0)) {
    throw ValueError("GradientClipping: threshold is " + general_text(threshold) + ": it must not be negative");
  }
}

void GradientClipping::operator()(std::span<Parameter* const> parameters) const {
  const Array squared_norm = gradient_square_sum(parameters);
  if (!squared_norm.is_defined()) return;
  const Array numbers = empty({1}, Dtype::float64, squared_norm.device());
  launch<kernels::GradientClippingNumbers>(numbers.device(), squared_norm, kernels::ClippingRate{threshold}, numbers);
  for (const GradientBatch& batch : batch_gradients(parameters)) change_gradients<kernels::ScaleHook>(batch, numbers);
}

}  // namespace kusari::optimizer_hooks
