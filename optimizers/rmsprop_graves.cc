#include "kusari/optimizers/rmsprop_graves.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> RMSpropGraves::fields() {
  return {{"lr", &lr},
          {"alpha", &alpha, Range::zero_to_one},
          {"momentum", &momentum, Range::not_negative},
          {"eps", &eps, Range::not_negative}};
}

std::span<const char* const> RMSpropGraves::state_names() const noexcept {
  static constexpr const char* kNames[] = {"n", "g", "delta"};
  return kNames;
}

size_t RMSpropGraves::numbers(int64_t, double* out) const {
  const kernels::RmsPropGravesStep step{lr, alpha, momentum, eps};
  return write_numbers(step, out);
}

void RMSpropGraves::launch_step(const detail::StepLaunch& step) const { step.run<kernels::RmsPropGravesStep>(); }

}  // namespace kusari::optimizers
