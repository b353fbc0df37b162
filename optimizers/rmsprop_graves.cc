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

detail::StepMethod RMSpropGraves::method() const {
  return detail::StepMethod::constant(kernels::RmsPropGravesStep{lr, alpha, momentum, eps});
}

}  // namespace kusari::optimizers
