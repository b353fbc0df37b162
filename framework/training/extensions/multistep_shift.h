#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// MultistepShift by names: `MultistepShift("lr", {.gamma = 0.1, .step_value = {30, 60}})`.
struct MultistepShiftOptions {
  double gamma = std::numeric_limits<double>::quiet_NaN();
  std::vector<int64_t> step_value = {};
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// init * gamma^k after k of the calls step_value, which ascend: MultistepShift("lr", 0.1, {30, 60}).
/// chainer.training.extensions.MultistepShift.
class KUSARI_API MultistepShift final : public HyperparameterShift {
 public:
  MultistepShift(std::string attr, double gamma, std::vector<int64_t> step_value, ShiftOptions options = {});
  MultistepShift(std::string attr, MultistepShiftOptions o)
      : MultistepShift(std::move(attr), o.gamma, o.step_value, {o.init, o.target, std::move(o.optimizer)}) {}
  std::string default_name() const override { return "MultistepShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;

  double gamma_;
  std::vector<int64_t> step_value_;
};

}  // namespace kusari::training::extensions
