#include "kusari/optimizers/sgd.h"

#include "kusari/optimizers/step_launch.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> SGD::fields() { return {{"lr", &lr}}; }

detail::StepMethod SGD::method() const { return detail::StepMethod::constant(kernels::SgdStep{lr}); }

}  // namespace kusari::optimizers
