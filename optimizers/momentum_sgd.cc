#include "kusari/optimizers/momentum_sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> MomentumSGD::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> MomentumSGD::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

size_t MomentumSGD::numbers(int64_t, double* out) const {
  const kernels::MomentumSgdStep step{lr, momentum};
  return write_numbers(step, out);
}

void MomentumSGD::launch_step(const detail::StepLaunch& step) const { step.run<kernels::MomentumSgdStep>(); }

}  // namespace kusari::optimizers
