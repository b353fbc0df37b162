#include "kusari/framework/training/charts/axis.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/number_text.h"

namespace kusari::training::charts {
namespace {

/// As few digits as tell multiples of `step` apart.
std::string label(double value, double step) {
  if (std::abs(value) < step * 1e-9) return "0";
  const double magnitude = std::floor(std::log10(std::abs(value)) + 1e-9), unit = std::floor(std::log10(step) + 1e-9);
  const bool has_half = std::abs(step / std::pow(10, unit) - 2.5) < 1e-6;
  if (magnitude >= 6 || magnitude < -4) {
    return general_text(value, static_cast<int>(std::max(magnitude - unit, 0.0)) + 1 + (has_half ? 1 : 0));
  }
  return fixed_text(value, std::max(0, static_cast<int>(-unit) + (has_half ? 1 : 0)));
}

double nice_step(double span, int marks, bool integers) {
  const double raw = span / std::max(marks, 1), unit = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * unit;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * unit >= raw * (1 - 1e-9)) {
      step = factor * unit;
      break;
    }
  }
  return integers ? std::max(1.0, std::ceil(step - 1e-9)) : step;
}

void add_ticks(Axis& axis, double step) {
  const double first = std::ceil(axis.low / step - 1e-9);
  for (double i = first; i * step <= axis.high + step * 1e-9; ++i)
    axis.ticks.push_back({i * step, label(i * step, step)});
}

Axis log_axis(double low, double high, const AxisOptions& options) {
  Axis axis{low, high, true};
  double first = std::floor(std::log10(low) + 1e-9), last = std::ceil(std::log10(high) - 1e-9);
  if (first == last) ++last;
  if (!options.fixed_low) axis.low = std::pow(10, first);
  if (!options.fixed_high) axis.high = std::pow(10, last);
  const double step = std::max(1.0, std::ceil((last - first) / options.marks));
  for (double power = first; power <= last; power += step) {
    const double value = std::pow(10, power);
    if (value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9)) {
      axis.ticks.push_back({value, general_text(value, 1)});
    }
  }
  return axis;
}

}  // namespace

double Axis::place(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

Axis make_axis(double low, double high, const AxisOptions& options) {
  // Beyond these limits the length of the range, or its steps, would be infinite or 0.
  constexpr double kLargest = 1e307, kSmallest = 1e-290;
  if (options.log) {
    low = std::clamp(low, kSmallest, kLargest);
    return log_axis(low, std::clamp(high, low * (1 + 1e-9), 10 * kLargest), options);
  }
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  if (low > high) (options.fixed_low ? high : low) = options.fixed_low ? low : high;
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > std::max(size * 1e-12, kSmallest))) {
    const double room = options.integers || size < kSmallest ? 0.5 : size * 0.05;
    if (!options.fixed_low || options.fixed_high) low -= room;
    if (!options.fixed_high || options.fixed_low) high += room;
  }
  const double step = nice_step(high - low, options.marks, options.integers);
  Axis axis{options.fixed_low ? low : std::floor(low / step + 1e-9) * step,
            options.fixed_high ? high : std::ceil(high / step - 1e-9) * step};
  add_ticks(axis, step);
  return axis;
}

}  // namespace kusari::training::charts
