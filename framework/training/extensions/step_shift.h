#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// init * gamma^floor(t / step). Throws ValueError unless step is positive. chainer.training.extensions.StepShift.
class KUSARI_API StepShift final : public HyperparameterShift {
 public:
  StepShift(std::string attr, double gamma, int64_t step, ShiftOptions options = {});
  std::string default_name() const override { return "StepShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  int64_t step_;
};

}  // namespace kusari::training::extensions
