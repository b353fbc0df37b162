#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of NesterovAG.
struct NesterovAGOptions {
  double lr = 0.01;
  double momentum = 0.9;
};

/// Nesterov's accelerated gradient: v = momentum v - lr g; p += momentum^2 v - (1 + momentum) lr g.
/// Chainer's form, with the new v. chainer.optimizers.NesterovAG.
class KUSARI_API NesterovAG : public Optimizer, public NesterovAGOptions {
 public:
  explicit NesterovAG(const NesterovAGOptions& options = {}) : NesterovAGOptions{options} {}
  explicit NesterovAG(double learning_rate, double momentum_rate = 0.9)
      : NesterovAGOptions{learning_rate, momentum_rate} {}
  const char* name() const override { return "NesterovAG"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
