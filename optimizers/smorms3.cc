#include "kusari/optimizers/smorms3.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> SMORMS3::fields() { return {{"lr", &lr}, {"eps", &eps, Range::not_negative}}; }

std::span<const char* const> SMORMS3::state_names() const noexcept {
  static constexpr const char* kNames[] = {"mem", "g", "g2"};
  return kNames;
}

detail::StepMethod SMORMS3::method() const { return detail::StepMethod::constant(kernels::Smorms3Step{lr, eps}); }

}  // namespace kusari::optimizers
