#include "kusari/optimizers/nesterov_ag.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> NesterovAG::fields() { return {{"lr", &lr}, {"momentum", &momentum}}; }

std::span<const char* const> NesterovAG::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

size_t NesterovAG::numbers(int64_t, double* out) const {
  const kernels::NesterovAgStep step{lr, momentum};
  return write_numbers(step, out);
}

void NesterovAG::launch_step(const Device& device, const Array& numbers, In guard, InList gradients,
                             InOutList arrays) const {
  launch<kernels::OptimizerStep<kernels::NesterovAgStep>>(device, numbers, guard, gradients, arrays);
}

}  // namespace kusari::optimizers
