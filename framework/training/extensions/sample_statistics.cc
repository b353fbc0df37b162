#include "kusari/framework/training/extensions/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kusari::training::extensions {
namespace {

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  const double center = mean(values);
  double sum = 0;
  for (const double x : values) sum += (x - center) * (x - center);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double minimum(std::span<const double> values) {
  return has_nan(values) ? kNan : *std::min_element(values.begin(), values.end());
}

double maximum(std::span<const double> values) {
  return has_nan(values) ? kNan : *std::max_element(values.begin(), values.end());
}

std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents) {
  if (has_nan(values)) return std::vector<double>(percents.size(), kNan);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> results;
  for (const double percent : percents) {
    const double place = percent / 100 * static_cast<double>(sorted.size() - 1), below = std::floor(place);
    const auto i = static_cast<size_t>(below);
    const double low = sorted[i], high = sorted[std::min(i + 1, sorted.size() - 1)];
    results.push_back(place == below || low == high ? low : low + (high - low) * (place - below));
  }
  return results;
}

std::vector<double> gradient_values(const Variable& variable) {
  const Array gradient = variable.grad();
  if (!gradient.is_defined()) return {};
  const Array on_device = variable.device_loss_scale();
  const double scale = on_device.is_defined() ? on_device.item<double>() : variable.loss_scale();
  std::vector<double> values = gradient.to_vector<double>();
  if (scale != 1) {
    for (double& x : values) x /= scale;
  }
  return values;
}

}  // namespace kusari::training::extensions
