#include "kusari/optimizers/radam.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> RAdam::fields() {
  return {{"lr", &lr},
          {"beta1", &beta1, Range::zero_to_below_one},
          {"beta2", &beta2, Range::zero_to_below_one},
          {"eps", &eps, Range::not_negative},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
}

std::span<const char* const> RAdam::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

detail::StepMethod RAdam::method() const {
  return detail::StepMethod::scheduled(kernels::RAdamSchedule{lr, beta1, beta2, eps, weight_decay_rate},
                                       detail::run_step<kernels::RAdamStep>);
}

}  // namespace kusari::optimizers
