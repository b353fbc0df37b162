#include "kusari/optimizers/momentum_sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> MomentumSGD::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> MomentumSGD::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

detail::StepMethod MomentumSGD::method() const {
  return detail::StepMethod::constant(kernels::MomentumSgdStep{lr, momentum});
}

}  // namespace kusari::optimizers
