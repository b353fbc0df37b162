#include "kusari/framework/training/extensions/one_cycle_shift.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

OneCycleShift::OneCycleShift(std::string attr, int64_t length, const OneCycleShiftOptions& options)
    : HyperparameterShift("OneCycleShift", std::move(attr),
                          {.init = options.init, .target = std::nullopt, .optimizer = options.optimizer}),
      length_{static_cast<double>(length)},
      start_ratio_{argument::finite_not_negative("OneCycleShift", "start_ratio", options.start_ratio)},
      final_ratio_{argument::finite_not_negative("OneCycleShift", "final_ratio", options.final_ratio)},
      rising_{options.rising} {
  if (length < 1) throw ValueError("OneCycleShift: length is " + std::to_string(length) + ": it must be positive");
  if (!(rising_ >= 0 && rising_ <= 1)) {
    throw ValueError("OneCycleShift: rising is " + general_text(rising_) + ": it must be between 0 and 1");
  }
}

std::optional<double> OneCycleShift::value(int64_t t, double init) const {
  const double done = std::min(static_cast<double>(t) / length_, 1.0);
  if (done < rising_) return init * (start_ratio_ + (1 - start_ratio_) * done / rising_);
  if (done >= 1) return init * final_ratio_;
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * (done - rising_) / (1 - rising_)));
  return init * (final_ratio_ + (1 - final_ratio_) * wave);
}

}  // namespace kusari::training::extensions
