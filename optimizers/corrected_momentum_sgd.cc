#include "kusari/optimizers/corrected_momentum_sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> CorrectedMomentumSGD::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> CorrectedMomentumSGD::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

size_t CorrectedMomentumSGD::numbers(int64_t, double* out) const {
  const kernels::CorrectedMomentumSgdStep step{lr, momentum};
  return write_numbers(step, out);
}

void CorrectedMomentumSGD::launch_step(const detail::StepLaunch& step) const {
  step.run<kernels::CorrectedMomentumSgdStep>();
}

}  // namespace kusari::optimizers
