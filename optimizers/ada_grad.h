#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// AdaGrad: h += g g; p -= lr g / (sqrt(h) + eps). Duchi et al. 2011; chainer.optimizers.AdaGrad.
class KUSARI_API AdaGrad : public Optimizer {
 public:
  double lr;
  double eps;

  explicit AdaGrad(double learning_rate = 0.001, double epsilon = 1e-8) : lr{learning_rate}, eps{epsilon} {}
  const char* name() const override { return "AdaGrad"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  size_t numbers(int64_t t, double* numbers) const override;
  void launch_step(const detail::StepLaunch& step) const override;
};

}  // namespace kusari::optimizers
