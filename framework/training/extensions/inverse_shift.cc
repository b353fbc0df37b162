#include "kusari/framework/training/extensions/inverse_shift.h"

#include <cmath>

#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

InverseShift::InverseShift(std::string attr, double gamma, double power, ShiftOptions options)
    : HyperparameterShift(std::move(attr), std::move(options)), gamma_{gamma}, power_{power} {
  if (!(gamma >= 0)) throw ValueError("InverseShift: gamma is " + std::to_string(gamma) + ": it must not be negative");
}

std::optional<double> InverseShift::value(int64_t t, double init) const {
  return stop_at_target(init * std::pow(1 + gamma_ * static_cast<double>(t), -power_), power_ < 0);
}

}  // namespace kusari::training::extensions
