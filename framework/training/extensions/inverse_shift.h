#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// init * (1 + gamma * t)^-power. Throws ValueError for a negative gamma. chainer.training.extensions.InverseShift.
class KUSARI_API InverseShift final : public HyperparameterShift {
 public:
  InverseShift(std::string attr, double gamma, double power, ShiftOptions options = {});
  std::string default_name() const override { return "InverseShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  double power_;
};

}  // namespace kusari::training::extensions
