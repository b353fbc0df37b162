#include "kusari/optimizers/ada_grad.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> AdaGrad::fields() { return {{"lr", &lr}, {"eps", &eps, Range::not_negative}}; }

std::span<const char* const> AdaGrad::state_names() const noexcept {
  static constexpr const char* kNames[] = {"h"};
  return kNames;
}

detail::StepMethod AdaGrad::method() const { return detail::StepMethod::constant(kernels::AdaGradStep{lr, eps}); }

}  // namespace kusari::optimizers
