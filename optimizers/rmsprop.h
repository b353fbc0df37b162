#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of RMSprop.
struct RMSpropOptions {
  double lr = 0.01;
  double alpha = 0.99;
  double eps = 1e-8;
  bool eps_inside_sqrt = false;  ///< divide by sqrt(ms + eps)
};

/// RMSprop: ms = alpha ms + (1 - alpha) g g; p -= lr g / (sqrt(ms) + eps).
/// Tieleman and Hinton 2012; chainer.optimizers.RMSprop.
class KUSARI_API RMSprop : public Optimizer, public RMSpropOptions {
 public:
  explicit RMSprop(const RMSpropOptions& options = {}) : RMSpropOptions{options} {}
  explicit RMSprop(double learning_rate) : RMSpropOptions{.lr = learning_rate} {}
  const char* name() const override { return "RMSprop"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
