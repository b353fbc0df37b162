#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of RMSpropGraves.
struct RMSpropGravesOptions {
  double lr = 1e-4;
  double alpha = 0.95;
  double momentum = 0.9;
  double eps = 1e-4;
};

/// Graves' RMSprop: n = alpha n + (1 - alpha) g' g'; g = alpha g + (1 - alpha) g' for the gradient g';
/// delta = momentum delta - lr g' / sqrt(n - g g + eps); p += delta. Graves 2013; chainer.optimizers.RMSpropGraves.
class KUSARI_API RMSpropGraves : public Optimizer, public RMSpropGravesOptions {
 public:
  explicit RMSpropGraves(const RMSpropGravesOptions& options = {}) : RMSpropGravesOptions{options} {}
  const char* name() const override { return "RMSpropGraves"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
