#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of NAdam.
struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay_rate = 0;  ///< decay of the parameter itself, scaled by lr
  double momentum_decay = 4e-3;  ///< how fast the momentum rises from beta1 / 2 to beta1
};

/// Adam with Nesterov's momentum, which rises: mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2).
/// m += (1 - beta1)(g - m); v += (1 - beta2)(g g - v); p -= lr (weight_decay_rate p +
/// (mu_{t+1} m / (1 - mu_1 .. mu_{t+1}) + (1 - mu_t) g / (1 - mu_1 .. mu_t)) / (sqrt(v / (1 - beta2^t)) + eps)).
/// Dozat 2016; torch.optim.NAdam with decoupled_weight_decay (Chainer has none). The products of mu follow from t: a
/// change of beta1 or momentum_decay counts as if it had been made from the first step on.
class KUSARI_API NAdam : public Optimizer, public NAdamOptions {
 public:
  explicit NAdam(const NAdamOptions& options = {}) : NAdamOptions{options} {}
  explicit NAdam(double learning_rate) : NAdam(NAdamOptions{.lr = learning_rate}) {}
  const char* name() const override { return "NAdam"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
