#include "kusari/optimizers/nesterov_ag.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> NesterovAG::fields() {
  return {{"lr", &lr}, {"momentum", &momentum, Range::not_negative}};
}

std::span<const char* const> NesterovAG::state_names() const noexcept {
  static constexpr const char* kNames[] = {"v"};
  return kNames;
}

detail::StepMethod NesterovAG::method() const {
  return detail::StepMethod::constant(kernels::NesterovAgStep{lr, momentum});
}

}  // namespace kusari::optimizers
