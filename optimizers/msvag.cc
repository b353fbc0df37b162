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

detail::StepMethod MSVAG::method() const {
  return detail::StepMethod::scheduled(kernels::MsvagSchedule{lr, beta, eta, weight_decay_rate},
                                       detail::run_step<kernels::MsvagStep>);
}

}  // namespace kusari::optimizers
