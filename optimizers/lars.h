#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of LARS.
struct LARSOptions {
  double lr = 0.1;
  double momentum = 0.9;
  double weight_decay_rate = 0;
  double trust_coefficient = 0.001;
  double eps = 0;  ///< added to the norms by which is divided
};

/// Layer-wise adaptive rate scaling with momentum, for each parameter:
/// v = momentum v - lr trust (g + weight_decay_rate p); p += v, with
/// trust = trust_coefficient |p| / (|g| + weight_decay_rate |p| + eps), or 1 where |p| or |g| is 0.
/// Often biases and normalizations are left out: `bias.update_rule().hyperparam()` may take their weight decay. Chainer
/// has only the hook GradientLARS, without a trust coefficient and with a threshold. You et al. 2017.
class KUSARI_API LARS : public Optimizer, public LARSOptions {
 public:
  explicit LARS(const LARSOptions& options = {}) : LARSOptions{options} {}
  explicit LARS(double learning_rate) : LARS(LARSOptions{.lr = learning_rate}) {}
  const char* name() const override { return "LARS"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
  bool is_elementwise() const noexcept override { return false; }  // it takes norms
};

}  // namespace kusari::optimizers
