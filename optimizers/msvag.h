#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of MSVAG.
struct MSVAGOptions {
  double lr = 0.1;
  double beta = 0.9;
  double eta = 1;                ///< scales the step and the weight decay
  double weight_decay_rate = 0;  ///< decay of the parameter itself
};

/// M-SVAG: momentum whose steps shrink with the gradient's estimated variance. Balles and Hennig 2018;
/// chainer.optimizers.MSVAG.
class KUSARI_API MSVAG : public Optimizer, public MSVAGOptions {
 public:
  explicit MSVAG(const MSVAGOptions& options = {}) : MSVAGOptions{options} {}
  explicit MSVAG(double learning_rate) : MSVAG(MSVAGOptions{.lr = learning_rate}) {}
  const char* name() const override { return "MSVAG"; }

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
};

}  // namespace kusari::optimizers
