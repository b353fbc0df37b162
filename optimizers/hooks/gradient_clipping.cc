#include "kusari/optimizers/hooks/gradient_clipping.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

GradientClipping::GradientClipping(const GradientClippingOptions& options) : GradientClippingOptions{options} {
  if (std::isnan(threshold)) {
    throw ValueError("GradientClipping: threshold is not given, or NaN: it must be the largest norm of all gradients");
  }
  if (threshold <= 0) {
    throw ValueError("GradientClipping: threshold is " + general_text(threshold) +
                     ": it must be positive, as nothing would be learned");
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
