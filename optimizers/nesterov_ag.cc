#include "kusari/optimizers/nesterov_ag.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> NesterovAG::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> NesterovAG::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

size_t NesterovAG::numbers(int64_t, double* out) const {
  const kernels::NesterovAgStep step{lr, momentum};
  return write_numbers(step, out);
}

void NesterovAG::launch_step(const detail::StepLaunch& step) const { step.run<kernels::NesterovAgStep>(); }

}  // namespace kusari::optimizers
