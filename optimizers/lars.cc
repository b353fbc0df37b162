#include "kusari/optimizers/lars.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> LARS::fields() {
  return {{"lr", &lr},
          {"momentum", &momentum, Range::not_negative},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative},
          {"trust_coefficient", &trust_coefficient, Range::not_negative},
          {"eps", &eps, Range::not_negative}};
}

std::span<const char* const> LARS::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

detail::StepMethod LARS::method() const {
  const auto launch = [](const Optimizer&, const detail::StepLaunch& step) {
    const Array rows = step.layer_numbers<kernels::LarsRule>(step.gradients.arrays(), step.loss_scale);
    detail::StepLaunch{step.device, rows, step.guard, step.loss_scale, step.gradients, step.arrays, step.copies}
        .run<kernels::LarsStep>();
  };
  return detail::StepMethod::constant(kernels::LarsRule{lr, momentum, weight_decay_rate, trust_coefficient, eps},
                                      launch);
}

}  // namespace kusari::optimizers
