#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of DecoupledAdamW.
struct DecoupledAdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay_rate = 1e-2;
};

/// AdamW as PyTorch and most papers have it: the decay is scaled by the learning rate, so that it follows a schedule.
/// p -= lr weight_decay_rate p; m += (1 - beta1)(g - m); v += (1 - beta2)(g g - v);
/// p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
/// optimizers::AdamW is Chainer's: there the decay per step is eta weight_decay_rate, whatever the learning rate is,
/// and eps is added to sqrt(v), not to the corrected root. Loshchilov and Hutter 2019; torch.optim.AdamW.
class KUSARI_API DecoupledAdamW : public Optimizer, public DecoupledAdamWOptions {
 public:
  explicit DecoupledAdamW(const DecoupledAdamWOptions& options = {}) : DecoupledAdamWOptions{options} {}
  explicit DecoupledAdamW(double learning_rate) : DecoupledAdamW(DecoupledAdamWOptions{.lr = learning_rate}) {}
  const char* name() const override { return "DecoupledAdamW"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
