#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of SMORMS3.
struct SMORMS3Options {
  double lr = 0.001;
  double eps = 1e-16;
};

/// Simon Funk's SMORMS3: RMSprop with an averaging window that each element adapts.
/// http://sifter.org/~simon/journal/20150420.html; chainer.optimizers.SMORMS3.
class KUSARI_API SMORMS3 : public Optimizer, public SMORMS3Options {
 public:
  explicit SMORMS3(const SMORMS3Options& options = {}) : SMORMS3Options{options} {}
  explicit SMORMS3(double learning_rate, double epsilon = 1e-16) : SMORMS3Options{learning_rate, epsilon} {}
  const char* name() const override { return "SMORMS3"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  double initial_state(size_t index) const noexcept override { return index == 0 ? 1 : 0; }
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
