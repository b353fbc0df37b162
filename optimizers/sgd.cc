#include "kusari/optimizers/sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> SGD::fields() { return {{"lr", &lr}}; }

size_t SGD::numbers(int64_t, double* out) const {
  const kernels::SgdStep step{lr};
  return write_numbers(step, out);
}

void SGD::launch_step(const detail::StepLaunch& step) const { step.run<kernels::SgdStep>(); }

}  // namespace kusari::optimizers
