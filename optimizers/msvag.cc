#include "kusari/optimizers/msvag.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::optimizers {

std::vector<Optimizer::Field> MSVAG::fields() {
  return {{"lr", &lr}, {"beta", &beta}, {"eta", &eta}, {"weight_decay_rate", &weight_decay_rate}};
}

std::span<const char* const> MSVAG::state_names() const noexcept {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

size_t MSVAG::numbers(int64_t t, double* out) const {
  const double beta_power = std::pow(beta, static_cast<double>(t));
  const double rest = 1 - beta, rest_power = 1 - beta_power;
  const double rho =
      std::min(rest * rest * (1 - beta_power * beta_power) / (rest_power * rest_power * (1 - beta * beta)), 0.9999);
  const kernels::MsvagStep step{lr, beta, eta, weight_decay_rate, beta_power, rho};
  return write_numbers(step, out);
}

void MSVAG::launch_step(const Device& device, const Array& numbers, In guard, InList gradients,
                        InOutList arrays) const {
  launch<kernels::OptimizerStep<kernels::MsvagStep>>(device, numbers, guard, gradients, arrays);
}

}  // namespace kusari::optimizers
