#include "kusari/optimizers/adam.h"

#include <cmath>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

namespace {

double corrected(const AdamOptions& o, int64_t t) {
  const double steps = static_cast<double>(t);
  return o.alpha * std::sqrt(1 - std::pow(o.beta2, steps)) / (1 - std::pow(o.beta1, steps));
}

}  // namespace

double Adam::lr() const {
  if (t() == 0) throw StateError(std::string(name()) + "::lr: alpha_t is known from the first step on");
  return corrected(*this, t());
}

std::vector<Optimizer::Field> Adam::fields() {
  std::vector<Field> fields = {{"alpha", &alpha}, {"beta1", &beta1}, {"beta2", &beta2},
                               {"eps", &eps},     {"eta", &eta},     {"weight_decay_rate", &weight_decay_rate}};
  if (adabound) fields.insert(fields.end(), {{"final_lr", &final_lr}, {"gamma", &gamma}});
  return fields;
}

std::span<const char* const> Adam::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v", "vhat"};
  return {kNames, amsgrad ? size_t{3} : size_t{2}};
}

size_t Adam::numbers(int64_t t, double* out) const {
  const kernels::AdamStep step{corrected(*this, t), beta1, beta2, eps, eta, weight_decay_rate};
  if (!adabound) return write_numbers(step, out);
  // Schedules change alpha; the final learning rate keeps its proportion to it.
  const double final_rate = final_lr * alpha / initial_alpha_, progress = gamma * static_cast<double>(t);
  const double lower = final_rate * (1 - 1 / (progress + 1)), upper = final_rate * (1 + 1 / progress);
  return write_numbers(kernels::AdaBoundStep{step.alpha_t, beta1, beta2, eps, eta, weight_decay_rate, lower, upper},
                       out);
}

void Adam::launch_step(const Device& device, const Array& numbers, In guard, InList gradients, InOutList arrays) const {
  if (adabound && amsgrad) {
    launch<kernels::OptimizerStep<kernels::AmsBoundStep>>(device, numbers, guard, gradients, arrays);
  } else if (adabound) {
    launch<kernels::OptimizerStep<kernels::AdaBoundStep>>(device, numbers, guard, gradients, arrays);
  } else if (amsgrad) {
    launch<kernels::OptimizerStep<kernels::AmsGradStep>>(device, numbers, guard, gradients, arrays);
  } else {
    launch<kernels::OptimizerStep<kernels::AdamStep>>(device, numbers, guard, gradients, arrays);
  }
}

}  // namespace kusari::optimizers
