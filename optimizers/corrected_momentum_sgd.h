#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of CorrectedMomentumSGD.
struct CorrectedMomentumSGDOptions {
  double lr = 0.01;
  double momentum = 0.9;
};

/// MomentumSGD whose velocity does not depend on the learning rate: v = momentum v - g; p += lr v.
/// chainer.optimizers.CorrectedMomentumSGD.
class KUSARI_API CorrectedMomentumSGD : public Optimizer, public CorrectedMomentumSGDOptions {
 public:
  explicit CorrectedMomentumSGD(const CorrectedMomentumSGDOptions& options = {})
      : CorrectedMomentumSGDOptions{options} {}
  explicit CorrectedMomentumSGD(double learning_rate, double momentum_rate = 0.9)
      : CorrectedMomentumSGDOptions{learning_rate, momentum_rate} {}
  const char* name() const override { return "CorrectedMomentumSGD"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
