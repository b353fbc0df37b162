#include "kusari/optimizers/lamb.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

namespace {

kernels::LambSchedule schedule_of(const LAMBOptions& o) { return {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay_rate}; }

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

size_t LAMB::numbers(int64_t t, double* out) const {
  return write_numbers(schedule_of(*this)(static_cast<double>(t)), out);
}

size_t LAMB::schedule(double* out) const { return write_numbers(schedule_of(*this), out); }

void LAMB::launch_numbers(const detail::NumbersLaunch& numbers) const { numbers.run<kernels::LambSchedule>(); }

void LAMB::launch_step(const detail::StepLaunch& step) const {
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

}  // namespace kusari::optimizers
