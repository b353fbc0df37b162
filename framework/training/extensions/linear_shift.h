#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// value_range.first until call time_range.first, value_range.second from call time_range.second, and a straight line
/// between. Throws ValueError unless the times ascend. chainer.training.extensions.LinearShift.
class KUSARI_API LinearShift final : public HyperparameterShift {
 public:
  LinearShift(std::string attr, std::pair<double, double> value_range, std::pair<int64_t, int64_t> time_range,
              ShiftOptions options = {});
  std::string default_name() const override { return "LinearShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;
  double first_value(double init) const override;

  std::pair<double, double> values_;
  std::pair<int64_t, int64_t> times_;
};

}  // namespace kusari::training::extensions
