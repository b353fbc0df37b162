#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// init * rate^t. Throws ValueError for a negative rate. chainer.training.extensions.ExponentialShift.
class KUSARI_API ExponentialShift final : public HyperparameterShift {
 public:
  ExponentialShift(std::string attr, double rate, ShiftOptions options = {});
  std::string default_name() const override { return "ExponentialShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double rate_;
};

}  // namespace kusari::training::extensions
