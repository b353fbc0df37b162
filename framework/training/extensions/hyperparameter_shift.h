#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/training/extension.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {

struct ShiftOptions {
  std::optional<double> init = std::nullopt;               ///< the optimizer's value at the start when not given
  std::optional<double> target = std::nullopt;             ///< the value stops there
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// Base of the extensions that set a hyperparameter of an optimizer, such as "lr" or "alpha", to a function of how
/// often they were called: t. Give them a trigger: `trainer.extend(ExponentialShift("lr", 0.5), {.trigger = {10,
/// "epoch"}})`. The optimizer throws KeyError for a hyperparameter that it does not have.
class KUSARI_API HyperparameterShift : public Extension {
 public:
  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void serialize(Serializer& serializer) override;

 protected:
  /// Throws ValueError without an attr and for an init or target that is not finite. call: the name of the class.
  HyperparameterShift(const char* call, std::string attr, ShiftOptions options);

  /// The value after t calls, when it was `init` at the start. Nothing leaves the hyperparameter as it is.
  virtual std::optional<double> value(int64_t t, double init) const = 0;
  /// The value before the first call.
  virtual double first_value(double init) const { return init; }
  /// `value`, or the target where that lies in between; `growing` tells which values are beyond it.
  double stop_at_target(double value, bool growing) const;

 private:
  double& hyperparameter(Trainer& trainer) const;

  std::string attr_;
  ShiftOptions options_;
  std::optional<double> last_value_;
  int64_t t_ = 0;
};

}  // namespace kusari::training::extensions
