#include "kusari/framework/training/extensions/step_shift.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

StepShift::StepShift(std::string attr, double gamma, int64_t step, ShiftOptions options)
    : HyperparameterShift("StepShift", std::move(attr), std::move(options)),
      gamma_{argument::finite_not_negative("StepShift", "gamma", gamma)},
      step_{step} {
  if (step < 1) throw ValueError("StepShift: step is " + std::to_string(step) + ": it must be positive");
}

std::optional<double> StepShift::value(int64_t t, double init) const {
  return stop_at_target(init * std::pow(gamma_, static_cast<double>(t / step_)), gamma_ > 1);
}

}  // namespace kusari::training::extensions
