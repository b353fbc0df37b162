#include "kusari/optimizers/smorms3.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> SMORMS3::fields() { return {{"lr", &lr}, {"eps", &eps, Range::not_negative}}; }

std::span<const char* const> SMORMS3::state_names() const noexcept {
  static constexpr const char* kNames[] = {"mem", "g", "g2"};
  return kNames;
}

size_t SMORMS3::numbers(int64_t, double* out) const {
  const kernels::Smorms3Step step{lr, eps};
  return write_numbers(step, out);
}

void SMORMS3::launch_step(const detail::StepLaunch& step) const { step.run<kernels::Smorms3Step>(); }

}  // namespace kusari::optimizers
