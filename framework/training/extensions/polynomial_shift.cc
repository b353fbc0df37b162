#include "kusari/framework/training/extensions/polynomial_shift.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

PolynomialShift::PolynomialShift(std::string attr, double rate, int64_t max_count, ShiftOptions options)
    : HyperparameterShift("PolynomialShift", std::move(attr), std::move(options)),
      rate_{argument::finite("PolynomialShift", "rate", rate)},
      max_count_{max_count} {
  if (max_count < 1) {
    throw ValueError("PolynomialShift: max_count is " + std::to_string(max_count) + ": it must be positive");
  }
}

std::optional<double> PolynomialShift::value(int64_t t, double init) const {
  const double decay = std::max(1 - static_cast<double>(t) / static_cast<double>(max_count_), 0.0);
  return stop_at_target(init * std::pow(decay, rate_), rate_ < 0);
}

}  // namespace kusari::training::extensions
