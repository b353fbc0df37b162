#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of MomentumSGD.
struct MomentumSGDOptions {
  double lr = 0.01;
  double momentum = 0.9;
};

/// Gradient descent with momentum: v = momentum v - lr g; p += v. chainer.optimizers.MomentumSGD.
class KUSARI_API MomentumSGD : public Optimizer, public MomentumSGDOptions {
 public:
  explicit MomentumSGD(const MomentumSGDOptions& options = {}) : MomentumSGDOptions{options} {}
  explicit MomentumSGD(double learning_rate, double momentum_rate = 0.9)
      : MomentumSGDOptions{learning_rate, momentum_rate} {}
  const char* name() const override { return "MomentumSGD"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
