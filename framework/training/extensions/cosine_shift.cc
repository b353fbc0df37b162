#include "kusari/framework/training/extensions/cosine_shift.h"

#include <cmath>
#include <numbers>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

CosineShift::CosineShift(std::string attr, int64_t period, CosineShiftOptions options)
    : HyperparameterShift("CosineShift", std::move(attr),
                          {.init = options.init, .target = std::nullopt, .optimizer = options.optimizer}),
      period_{static_cast<double>(period)},
      options_{std::move(options)} {
  if (period < 1) throw ValueError("CosineShift: period is " + std::to_string(period) + ": it must be positive");
  argument::not_negative("CosineShift", "warmup", options_.warmup);
  argument::finite("CosineShift", "final_value", options_.final_value);
  argument::finite("CosineShift", "warmup_start", options_.warmup_start);
  argument::finite_not_negative("CosineShift", "restart_factor", options_.restart_factor);
  if (!(options_.period_factor >= 1)) {
    throw ValueError("CosineShift: period_factor is " + general_text(options_.period_factor) +
                     ": it must be at least 1");
  }
}

double CosineShift::first_value(double init) const { return options_.warmup > 0 ? options_.warmup_start : init; }

std::optional<double> CosineShift::value(int64_t t, double init) const {
  if (t < options_.warmup) {
    const double done = static_cast<double>(t) / static_cast<double>(options_.warmup);
    return options_.warmup_start + (init - options_.warmup_start) * done;
  }
  double place = static_cast<double>(t - options_.warmup), period = period_, highest = init;
  if (options_.restarts) {
    if (options_.period_factor == 1) {
      const double periods = std::floor(place / period);
      place -= periods * period;
      highest *= std::pow(options_.restart_factor, periods);
    }
    while (place >= period) {
      place -= period;
      period *= options_.period_factor;
      highest *= options_.restart_factor;
    }
  } else if (place >= period) {
    return options_.final_value;
  }
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * place / period));
  return options_.final_value + (highest - options_.final_value) * wave;
}

}  // namespace kusari::training::extensions
