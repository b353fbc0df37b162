#include "kusari/optimizers/lamb.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

namespace {

void launch_lamb(const Optimizer&, const detail::StepLaunch& step) {
  const std::span<const Array> parameters = step.parameters();
  std::vector<Array> directions, arrays(step.arrays.arrays().begin(), step.arrays.arrays().end());
  for (const Array& parameter : parameters) {
    directions.push_back(empty_like(parameter));
    directions.back().fill(0);  // a recorded step reads nothing that was not written
  }
  arrays.insert(arrays.end(), directions.begin(), directions.end());
  detail::StepLaunch{step.device,
                     step.numbers,
                     step.guard,
                     step.loss_scale,
                     step.gradients,
                     InOutList(arrays),
                     InOutList(std::span<const Array>())}
      .run<kernels::LambDirectionStep>();
  const Array rows = step.layer_numbers<kernels::LambRule>(directions, Array());
  detail::StepLaunch{step.device, rows, step.guard, Array(), InList(directions), InOutList(parameters), step.copies}
      .run<kernels::LambStep>();
}

}  // namespace

std::vector<Optimizer::Field> LAMB::fields() {
  return {{"lr", &lr},
          {"beta1", &beta1, Range::zero_to_below_one},
          {"beta2", &beta2, Range::zero_to_below_one},
          {"eps", &eps, Range::not_negative},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
}

std::span<const char* const> LAMB::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

detail::StepMethod LAMB::method() const {
  return detail::StepMethod::scheduled(kernels::LambSchedule{lr, beta1, beta2, eps, weight_decay_rate}, launch_lamb);
}

}  // namespace kusari::optimizers
