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

detail::StepMethod AdaDelta::method() const { return detail::StepMethod::constant(kernels::AdaDeltaStep{rho, eps}); }

}  // namespace kusari::optimizers
