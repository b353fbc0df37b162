#include "kusari/optimizers/msvag.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> MSVAG::fields() {
  return {{"lr", &lr},
          {"beta", &beta, Range::zero_to_below_one},
          {"eta", &eta},
          {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
}

std::span<const char* const> MSVAG::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

size_t MSVAG::numbers(int64_t t, double* out) const {
  const kernels::MsvagSchedule schedule{lr, beta, eta, weight_decay_rate};
  return write_numbers(schedule(static_cast<double>(t)), out);
}

size_t MSVAG::schedule(double* out) const {
  const kernels::MsvagSchedule schedule{lr, beta, eta, weight_decay_rate};
  return write_numbers(schedule, out);
}

void MSVAG::launch_numbers(const detail::NumbersLaunch& numbers) const { numbers.run<kernels::MsvagSchedule>(); }

void MSVAG::launch_step(const detail::StepLaunch& step) const { step.run<kernels::MsvagStep>(); }

}  // namespace kusari::optimizers
