#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// ExponentialShift by names: `ExponentialShift("lr", {.rate = 0.5})`.
struct ExponentialShiftOptions {
  double rate = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// init * rate^t. Throws ValueError for a negative rate. chainer.training.extensions.ExponentialShift.
class KUSARI_API ExponentialShift final : public HyperparameterShift {
 public:
  ExponentialShift(std::string attr, double rate, ShiftOptions options = {});
  ExponentialShift(std::string attr, ExponentialShiftOptions o)
      : ExponentialShift(std::move(attr), o.rate, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "ExponentialShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double rate_;
};

}  // namespace kusari::training::extensions
