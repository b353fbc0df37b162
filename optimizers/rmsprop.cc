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

detail::StepMethod RMSprop::method() const {
  const kernels::RmsPropStep step{lr, alpha, eps};
  return eps_inside_sqrt ? detail::StepMethod::constant(step, detail::run_step<kernels::RmsPropInsideStep>)
                         : detail::StepMethod::constant(step);
}

}  // namespace kusari::optimizers
