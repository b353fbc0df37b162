#include "kusari/optimizers/decoupled_adamw.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

namespace {

kernels::DecoupledAdamSchedule schedule_of(const DecoupledAdamWOptions& o) {
  return {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay_rate};
}

}  // namespace

std::vector<Optimizer::Field> DecoupledAdamW::fields() {
  return {{"lr", &lr},
          {"beta1", &beta1, Range::zero_to_below_one},
          {"beta2", &beta2, Range::zero_to_below_one},
          {"eps", &eps, Range::not_negative},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
}

std::span<const char* const> DecoupledAdamW::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

size_t DecoupledAdamW::numbers(int64_t t, double* out) const {
  return write_numbers(schedule_of(*this)(static_cast<double>(t)), out);
}

size_t DecoupledAdamW::schedule(double* out) const { return write_numbers(schedule_of(*this), out); }

void DecoupledAdamW::launch_numbers(const detail::NumbersLaunch& numbers) const {
  numbers.run<kernels::DecoupledAdamSchedule>();
}

void DecoupledAdamW::launch_step(const detail::StepLaunch& step) const { step.run<kernels::AdamStep>(); }

}  // namespace kusari::optimizers
