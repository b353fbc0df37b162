#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of Lion.
struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9;            ///< of the momentum that gives the direction
  double beta2 = 0.99;           ///< of the momentum that is kept
  double weight_decay_rate = 0;  ///< decay of the parameter itself, scaled by lr
};

/// The sign of a momentum: p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay_rate p); m = beta2 m + (1 - beta2) g.
/// Each element moves by lr, so that lr is three to ten times smaller, and the decay as much larger, than with AdamW,
/// and there is one state where Adam has two. Chen et al. 2023, Symbolic discovery of optimization algorithms (Chainer
/// has none).
class KUSARI_API Lion : public Optimizer, public LionOptions {
 public:
  explicit Lion(const LionOptions& options = {}) : LionOptions{options} {}
  explicit Lion(double learning_rate) : Lion(LionOptions{.lr = learning_rate}) {}
  const char* name() const override { return "Lion"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
