#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// InverseShift by names: `InverseShift("lr", {.gamma = 1e-4, .power = 0.75})`.
struct InverseShiftOptions {
  double gamma = std::numeric_limits<double>::quiet_NaN();
  double power = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// init * (1 + gamma * t)^-power. Throws ValueError for a negative gamma. chainer.training.extensions.InverseShift.
class KUSARI_API InverseShift final : public HyperparameterShift {
 public:
  InverseShift(std::string attr, double gamma, double power, ShiftOptions options = {});
  InverseShift(std::string attr, InverseShiftOptions o)
      : InverseShift(std::move(attr), o.gamma, o.power, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "InverseShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  double power_;
};

}  // namespace kusari::training::extensions
