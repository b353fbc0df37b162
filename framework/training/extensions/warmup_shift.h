#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// A straight line from warmup_start to init over the first warmup_iter calls; later ones leave the hyperparameter as
/// it is. Without warmup_start, from the optimizer's value. chainer.training.extensions.WarmupShift.
class KUSARI_API WarmupShift final : public HyperparameterShift {
 public:
  WarmupShift(std::string attr, std::optional<double> warmup_start, int64_t warmup_iter, double init,
              std::optional<Ref<Optimizer>> optimizer = std::nullopt);
  std::string default_name() const override { return "WarmupShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  int64_t warmup_iter_;
  double init_;
};

}  // namespace kusari::training::extensions
