#include "kusari/optimizers/rmsprop.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> RMSprop::fields() { return {{"lr", &lr}, {"alpha", &alpha}, {"eps", &eps}}; }

std::span<const char* const> RMSprop::state_names() const noexcept {
  static constexpr const char* kNames[] = {"ms"};
  return kNames;
}

size_t RMSprop::numbers(int64_t, double* out) const {
  const kernels::RmsPropStep step{lr, alpha, eps};
  return write_numbers(step, out);
}

void RMSprop::launch_step(const Device& device, const Array& numbers, In guard, InList gradients,
                          InOutList arrays) const {
  if (eps_inside_sqrt) {
    launch<kernels::OptimizerStep<kernels::RmsPropInsideStep>>(device, numbers, guard, gradients, arrays);
  } else {
    launch<kernels::OptimizerStep<kernels::RmsPropStep>>(device, numbers, guard, gradients, arrays);
  }
}

}  // namespace kusari::optimizers
