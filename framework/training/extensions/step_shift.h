#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// StepShift by names: `StepShift("lr", {.gamma = 0.1, .step = 30})`.
struct StepShiftOptions {
  double gamma = std::numeric_limits<double>::quiet_NaN();
  int64_t step = 0;
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// init * gamma^floor(t / step). Throws ValueError unless step is positive. chainer.training.extensions.StepShift.
class KUSARI_API StepShift final : public HyperparameterShift {
 public:
  StepShift(std::string attr, double gamma, int64_t step, ShiftOptions options = {});
  StepShift(std::string attr, StepShiftOptions o)
      : StepShift(std::move(attr), o.gamma, o.step, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "StepShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  int64_t step_;
};

}  // namespace kusari::training::extensions
