#include "kusari/optimizers/hooks/gradient_clipping.h"

#include <cmath>

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

void GradientClipping::operator()(std::span<Parameter* const> parameters) const {
  const double norm = std::sqrt(gradient_square_sum(parameters));
  if (norm > threshold) scale_gradients(parameters, threshold / norm);
}

}  // namespace kusari::optimizer_hooks
