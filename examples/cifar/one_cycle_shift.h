#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <kusari/kusari.h>

// Takes the learning rate from a tenth of its value up to it, in a straight line over the first part of the training,
// and from there along a cosine to zero: high rates are found early and used longest. Smith and Topin 2018.
class OneCycleShift : public kusari::extensions::HyperparameterShift {
 public:
  OneCycleShift(std::string attr, int64_t iterations, kusari::extensions::ShiftOptions options = {})
      : HyperparameterShift(std::move(attr), std::move(options)), iterations_{static_cast<double>(iterations)} {}
  std::string default_name() const override { return "OneCycleShift"; }

 private:
  static constexpr double kStart = 0.1;   // of the highest value
  static constexpr double kRising = 0.2;  // of the iterations
  static constexpr double kPi = 3.14159265358979323846;

  std::optional<double> value(int64_t t, double init) const override {
    const double done = std::min(static_cast<double>(t) / iterations_, 1.0);
    if (done < kRising) return init * (kStart + (1 - kStart) * done / kRising);
    return init * 0.5 * (1 + std::cos(kPi * (done - kRising) / (1 - kRising)));
  }
  double first_value(double init) const override { return init * kStart; }

  double iterations_;
};
