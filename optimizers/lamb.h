#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of LAMB.
struct LAMBOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay_rate = 1e-2;
};

/// Layer-wise adaptive moments, for each parameter: m += (1 - beta1)(g - m); v += (1 - beta2)(g g - v);
/// r = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay_rate p;
/// p -= lr trust r, with trust = |p| / |r|, or 1 where one of them is 0. You et al. 2020.
class KUSARI_API LAMB : public Optimizer, public LAMBOptions {
 public:
  explicit LAMB(const LAMBOptions& options = {}) : LAMBOptions{options} {}
  explicit LAMB(double learning_rate) : LAMB(LAMBOptions{.lr = learning_rate}) {}
  const char* name() const override { return "LAMB"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
  bool is_elementwise() const noexcept override { return false; }  // it takes norms
};

}  // namespace kusari::optimizers
