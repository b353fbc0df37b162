#pragma once

#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// init * gamma^k after k of the calls step_value, which ascend: MultistepShift("lr", 0.1, {30, 60}).
/// chainer.training.extensions.MultistepShift.
class KUSARI_API MultistepShift final : public HyperparameterShift {
 public:
  MultistepShift(std::string attr, double gamma, std::vector<int64_t> step_value, ShiftOptions options = {});
  std::string default_name() const override { return "MultistepShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  std::vector<int64_t> step_value_;
};

}  // namespace kusari::training::extensions
