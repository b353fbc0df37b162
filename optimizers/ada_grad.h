#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of AdaGrad.
struct AdaGradOptions {
  double lr = 0.001;
  double eps = 1e-8;
};

/// AdaGrad: h += g g; p -= lr g / (sqrt(h) + eps). Duchi et al. 2011; chainer.optimizers.AdaGrad.
class KUSARI_API AdaGrad : public Optimizer, public AdaGradOptions {
 public:
  explicit AdaGrad(const AdaGradOptions& options = {}) : AdaGradOptions{options} {}
  explicit AdaGrad(double learning_rate, double epsilon = 1e-8) : AdaGradOptions{learning_rate, epsilon} {}
  const char* name() const override { return "AdaGrad"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
