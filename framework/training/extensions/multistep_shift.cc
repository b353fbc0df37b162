#include "kusari/framework/training/extensions/multistep_shift.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/argument.h"

namespace kusari::training::extensions {

MultistepShift::MultistepShift(std::string attr, double gamma, std::vector<int64_t> step_value, ShiftOptions options)
    : HyperparameterShift("MultistepShift", std::move(attr), std::move(options)),
      gamma_{argument::finite_not_negative("MultistepShift", "gamma", gamma)},
      step_value_{std::move(step_value)} {}

std::optional<double> MultistepShift::value(int64_t t, double init) const {
  const auto passed = std::count_if(step_value_.begin(), step_value_.end(), [t](int64_t step) { return t >= step; });
  return stop_at_target(init * std::pow(gamma_, static_cast<double>(passed)), gamma_ > 1);
}

}  // namespace kusari::training::extensions
