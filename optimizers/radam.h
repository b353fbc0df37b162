#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of RAdam.
struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay_rate = 0;  ///< decay of the parameter itself, scaled by lr
};

/// Adam that needs no warmup: a step is shortened by what the second moment does not know yet, and of the first steps,
/// those with rho_t <= 5, the momentum alone is taken. m += (1 - beta1)(g - m); v += (1 - beta2)(g g - v);
/// p -= lr (weight_decay_rate p + r_t m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(v) + eps)), with
/// rho = 2 / (1 - beta2) - 1, rho_t = rho - 2 t beta2^t / (1 - beta2^t) and
/// r_t^2 = (rho_t - 4)(rho_t - 2) rho / ((rho - 4)(rho - 2) rho_t). Liu et al. 2020, whose steps begin at rho_t > 4;
/// torch.optim.RAdam with decoupled_weight_decay (Chainer has none).
class KUSARI_API RAdam : public Optimizer, public RAdamOptions {
 public:
  explicit RAdam(const RAdamOptions& options = {}) : RAdamOptions{options} {}
  explicit RAdam(double learning_rate) : RAdam(RAdamOptions{.lr = learning_rate}) {}
  const char* name() const override { return "RAdam"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
