#include "kusari/optimizers/rmsprop.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> RMSprop::fields() {
  return {{"lr", &lr}, {"alpha", &alpha, Range::zero_to_one}, {"eps", &eps, Range::not_negative}};
}

std::span<const char* const> RMSprop::state_names() const noexcept {
  static constexpr const char* kNames[] = {"ms"};
  return kNames;
}

size_t RMSprop::numbers(int64_t, double* out) const {
  const kernels::RmsPropStep step{lr, alpha, eps};
  return write_numbers(step, out);
}

void RMSprop::launch_step(const detail::StepLaunch& step) const {
  if (eps_inside_sqrt) {
    step.run<kernels::RmsPropInsideStep>();
  } else {
    step.run<kernels::RmsPropStep>();
  }
}

}  // namespace kusari::optimizers
