#include "kusari/optimizers/nadam.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> NAdam::fields() {
  return {{"lr", &lr},
          {"beta1", &beta1, Range::zero_to_below_one},
          {"beta2", &beta2, Range::zero_to_below_one},
          {"eps", &eps, Range::not_negative},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative},
          {"momentum_decay", &momentum_decay, Range::not_negative}};
}

std::span<const char* const> NAdam::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

detail::StepMethod NAdam::method() const {
  return detail::StepMethod::scheduled(kernels::NAdamSchedule{lr, beta1, beta2, eps, weight_decay_rate, momentum_decay},
                                       detail::run_step<kernels::NAdamStep>);
}

}  // namespace kusari::optimizers
