#include "kusari/framework/training/extensions/lambda_shift.h"

#include <cmath>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

namespace kusari::training::extensions {

LambdaShift::LambdaShift(std::string attr, Callable<double(int64_t, double)> function, ShiftOptions options)
    : HyperparameterShift("LambdaShift", std::move(attr), std::move(options)),
      function_{argument::callable("LambdaShift", "function", std::move(function))} {}

std::optional<double> LambdaShift::value(int64_t t, double init) const {
  const double value = function_(t, init);
  if (!std::isfinite(value)) {
    throw ValueError("LambdaShift: the function gives " + general_text(value) + " after " + std::to_string(t) +
                     " calls: it must be finite");
  }
  return value;
}

double LambdaShift::first_value(double init) const { return *value(0, init); }

}  // namespace kusari::training::extensions
