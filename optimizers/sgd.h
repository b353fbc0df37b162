#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of SGD.
struct SGDOptions {
  double lr = 0.01;
};

/// Stochastic gradient descent: p -= lr g. chainer.optimizers.SGD.
class KUSARI_API SGD : public Optimizer, public SGDOptions {
 public:
  explicit SGD(const SGDOptions& options = {}) : SGDOptions{options} {}
  explicit SGD(double learning_rate) : SGDOptions{learning_rate} {}
  const char* name() const override { return "SGD"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override { return {}; }
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
