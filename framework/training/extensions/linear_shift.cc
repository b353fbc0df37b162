#include "kusari/framework/training/extensions/linear_shift.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

LinearShift::LinearShift(std::string attr, std::pair<double, double> value_range,
                         std::pair<int64_t, int64_t> time_range, ShiftOptions options)
    : HyperparameterShift("LinearShift", std::move(attr), std::move(options)),
      values_{value_range},
      times_{time_range} {
  argument::finite("LinearShift", "value_range.first", value_range.first);
  argument::finite("LinearShift", "value_range.second", value_range.second);
  if (time_range.first >= time_range.second) {
    throw ValueError("LinearShift: the time range is " + std::to_string(time_range.first) + " to " +
                     std::to_string(time_range.second) + ": it must ascend");
  }
}

std::optional<double> LinearShift::value(int64_t t, double) const {
  if (t <= times_.first) return values_.first;
  if (t >= times_.second) return values_.second;
  const double rate = static_cast<double>(t - times_.first) / static_cast<double>(times_.second - times_.first);
  return values_.first + rate * (values_.second - values_.first);
}

double LinearShift::first_value(double init) const { return *value(0, init); }

}  // namespace kusari::training::extensions
