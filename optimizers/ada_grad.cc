#include "kusari/optimizers/ada_grad.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> AdaGrad::fields() { return {{"lr", &lr}, {"eps", &eps, Range::not_negative}}; }

std::span<const char* const> AdaGrad::state_names() const noexcept {
  static constexpr const char* kNames[] = {"h"};
  return kNames;
}

size_t AdaGrad::numbers(int64_t, double* out) const {
  const kernels::AdaGradStep step{lr, eps};
  return write_numbers(step, out);
}

void AdaGrad::launch_step(const detail::StepLaunch& step) const { step.run<kernels::AdaGradStep>(); }

}  // namespace kusari::optimizers
