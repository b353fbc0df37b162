#include "kusari/optimizers/lion.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> Lion::fields() {
  return {{"lr", &lr},
          {"beta1", &beta1, Range::zero_to_below_one},
          {"beta2", &beta2, Range::zero_to_below_one},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
}

std::span<const char* const> Lion::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m"};
  return kNames;
}

detail::StepMethod Lion::method() const {
  return detail::StepMethod::constant(kernels::LionStep{lr, beta1, beta2, weight_decay_rate});
}

}  // namespace kusari::optimizers
