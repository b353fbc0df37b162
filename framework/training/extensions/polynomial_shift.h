#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// init * max(1 - t / max_count, 0)^rate. Throws ValueError unless max_count is positive.
/// chainer.training.extensions.PolynomialShift.
class KUSARI_API PolynomialShift final : public HyperparameterShift {
 public:
  PolynomialShift(std::string attr, double rate, int64_t max_count, ShiftOptions options = {});
  std::string default_name() const override { return "PolynomialShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double rate_;
  int64_t max_count_;
};

}  // namespace kusari::training::extensions
