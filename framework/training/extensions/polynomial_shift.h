#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// PolynomialShift by names: `PolynomialShift("lr", {.rate = 1, .max_count = 100})`.
struct PolynomialShiftOptions {
  double rate = std::numeric_limits<double>::quiet_NaN();
  int64_t max_count = 0;
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// init * max(1 - t / max_count, 0)^rate. Throws ValueError unless max_count is positive.
/// chainer.training.extensions.PolynomialShift.
class KUSARI_API PolynomialShift final : public HyperparameterShift {
 public:
  PolynomialShift(std::string attr, double rate, int64_t max_count, ShiftOptions options = {});
  PolynomialShift(std::string attr, PolynomialShiftOptions o)
      : PolynomialShift(std::move(attr), o.rate, o.max_count, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "PolynomialShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double rate_;
  int64_t max_count_;
};

}  // namespace kusari::training::extensions
