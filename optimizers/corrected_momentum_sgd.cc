#include "kusari/optimizers/corrected_momentum_sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> CorrectedMomentumSGD::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> CorrectedMomentumSGD::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

detail::StepMethod CorrectedMomentumSGD::method() const {
  return detail::StepMethod::constant(kernels::CorrectedMomentumSgdStep{lr, momentum});
}

}  // namespace kusari::optimizers
