#include "kusari/optimizers/sgd.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> SGD::fields() { return {{"lr", &lr}}; }

size_t SGD::numbers(int64_t, double* out) const {
  const kernels::SgdStep step{lr};
  return write_numbers(step, out);
}

void SGD::launch_step(const Device& device, const Array& numbers, In guard, InList gradients, InOutList arrays) const {
  launch<kernels::OptimizerStep<kernels::SgdStep>>(device, numbers, guard, gradients, arrays);
}

}  // namespace kusari::optimizers
