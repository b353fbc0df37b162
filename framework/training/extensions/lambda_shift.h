#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extensions/hyperparameter_shift.h"

namespace kusari::training::extensions {

/// What a function says: `LambdaShift("alpha", [](int64_t t, double init) { return init / std::sqrt(t + 1.0); })`.
/// function(t, init): the value after t calls, when it was `init` at the start; function(0, init) holds before the
/// first. A target is not used. Throws ValueError without a function, and where it gives a number that is not finite.
/// torch.optim.lr_scheduler.LambdaLR, but that its function gives a factor.
class KUSARI_API LambdaShift final : public HyperparameterShift {
 public:
  LambdaShift(std::string attr, Callable<double(int64_t t, double init)> function, ShiftOptions options = {});
  std::string default_name() const override { return "LambdaShift"; }

 private:
  std::optional<double> value(int64_t t, double init) const override;
  double first_value(double init) const override;

  Callable<double(int64_t, double)> function_;
};

}  // namespace kusari::training::extensions
