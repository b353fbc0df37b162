#include "kusari/framework/training/extensions/inverse_shift.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

InverseShift::InverseShift(std::string attr, double gamma, double power, ShiftOptions options)
    : HyperparameterShift("InverseShift", std::move(attr), std::move(options)),
      gamma_{argument::finite_not_negative("InverseShift", "gamma", gamma)},
      power_{argument::finite("InverseShift", "power", power)} {}

std::optional<double> InverseShift::value(int64_t t, double init) const {
  return stop_at_target(init * std::pow(1 + gamma_ * static_cast<double>(t), -power_), power_ < 0);
}

}  // namespace kusari::training::extensions
