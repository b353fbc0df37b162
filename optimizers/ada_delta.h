#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of AdaDelta.
struct AdaDeltaOptions {
  double rho = 0.95;
  double eps = 1e-6;
};

/// AdaDelta: msg = rho msg + (1 - rho) g g; d = sqrt((msdx + eps) / (msg + eps)) g;
/// msdx = rho msdx + (1 - rho) d d; p -= d. Zeiler 2012; chainer.optimizers.AdaDelta.
class KUSARI_API AdaDelta : public Optimizer, public AdaDeltaOptions {
 public:
  explicit AdaDelta(const AdaDeltaOptions& options = {}) : AdaDeltaOptions{options} {}
  explicit AdaDelta(double decay_rate, double epsilon = 1e-6) : AdaDeltaOptions{decay_rate, epsilon} {}
  const char* name() const override { return "AdaDelta"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
