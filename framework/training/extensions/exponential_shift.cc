#include "kusari/framework/training/extensions/exponential_shift.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

ExponentialShift::ExponentialShift(std::string attr, double rate, ShiftOptions options)
    : HyperparameterShift("ExponentialShift", std::move(attr), std::move(options)),
      rate_{argument::finite_not_negative("ExponentialShift", "rate", rate)} {}

std::optional<double> ExponentialShift::value(int64_t t, double init) const {
  return stop_at_target(init * std::pow(rate_, static_cast<double>(t)), rate_ > 1);
}

}  // namespace kusari::training::extensions
