#include "kusari/optimizers/ada_delta.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> AdaDelta::fields() {
  return {{"rho", &rho, Range::zero_to_one}, {"eps", &eps, Range::not_negative}};
}

std::span<const char* const> AdaDelta::state_names() const noexcept {
  static constexpr const char* kNames[] = {"msdx", "msg"};
  return kNames;
}

size_t AdaDelta::numbers(int64_t, double* out) const {
  const kernels::AdaDeltaStep step{rho, eps};
  return write_numbers(step, out);
}

void AdaDelta::launch_step(const detail::StepLaunch& step) const { step.run<kernels::AdaDeltaStep>(); }

}  // namespace kusari::optimizers
