#include "kusari/optimizers/hooks/gradient_lars.h"

#include <cmath>

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

void GradientLARS::operator()(std::span<Parameter* const> parameters) const {
  for (Parameter* const parameter : parameters) {
    const double p_norm = std::sqrt(square_sum(parameter->array()));
    const double g_norm = std::sqrt(gradient_square_sum({&parameter, 1}));
    const double rate = p_norm > threshold ? p_norm / (eps + g_norm + weight_decay * p_norm) : 1;
    change_gradients({&parameter, 1}, kernels::LarsHook{weight_decay, rate});
  }
}

}  // namespace kusari::optimizer_hooks
