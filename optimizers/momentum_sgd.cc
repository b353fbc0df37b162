#include "kusari/optimizers/momentum_sgd.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> MomentumSGD::fields() { return {{"lr", &lr}, {"momentum", &momentum}}; }

std::span<const char* const> MomentumSGD::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

size_t MomentumSGD::numbers(int64_t, double* out) const {
  const kernels::MomentumSgdStep step{lr, momentum};
  return write_numbers(step, out);
}

void MomentumSGD::launch_step(const Device& device, const Array& numbers, In guard, InList gradients,
                              InOutList arrays) const {
  launch<kernels::OptimizerStep<kernels::MomentumSgdStep>>(device, numbers, guard, gradients, arrays);
}

}  // namespace kusari::optimizers
