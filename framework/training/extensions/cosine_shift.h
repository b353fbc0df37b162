#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// Options of CosineShift.
struct CosineShiftOptions {
  std::optional<double> init = std::nullopt;  ///< the highest value; the optimizer's value at the start when not given
  double final_value = 0;                     ///< at the end of each period
  int64_t warmup = 0;                         ///< calls before the first period, in which the value rises in a line
  double warmup_start = 0;                    ///< where that line begins
  bool restarts = false;                      ///< false: the value stays at final_value after the first period
  double period_factor = 1;                   ///< each period is as many times as long as the one before
  double restart_factor = 1;                  ///< the highest value of each period, as a part of the one before
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// Half a cosine from init to final_value over `period` calls, after a warm-up and with warm restarts if wanted:
/// final_value + (init - final_value) (1 + cos(pi t / period)) / 2.
/// Throws ValueError unless period, and with restarts period_factor, are at least 1 and warmup is not negative.
/// Loshchilov and Hutter 2017.
class KUSARI_API CosineShift final : public HyperparameterShift {
 public:
  CosineShift(std::string attr, int64_t period, CosineShiftOptions options = {});
  std::string default_name() const override { return "CosineShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;
  double first_value(double init) const override;

  double period_;
  CosineShiftOptions options_;
};

}  // namespace kusari::training::extensions
