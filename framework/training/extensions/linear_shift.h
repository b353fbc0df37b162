#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// LinearShift by names: `LinearShift("lr", {.value_range = {1, 0}, .time_range = {0, 100}})`.
struct LinearShiftOptions {
  std::pair<double, double> value_range = {std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::quiet_NaN()};
  std::pair<int64_t, int64_t> time_range = {0, 0};
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// value_range.first until call time_range.first, value_range.second from call time_range.second, and a straight line
/// between. Throws ValueError unless the times ascend. chainer.training.extensions.LinearShift.
class KUSARI_API LinearShift final : public HyperparameterShift {
 public:
  LinearShift(std::string attr, std::pair<double, double> value_range, std::pair<int64_t, int64_t> time_range,
              ShiftOptions options = {});
  LinearShift(std::string attr, LinearShiftOptions o)
      : LinearShift(std::move(attr), o.value_range, o.time_range, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "LinearShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;
  double first_value(double init) const override;

  std::pair<double, double> values_;
  std::pair<int64_t, int64_t> times_;
};

}  // namespace kusari::training::extensions
