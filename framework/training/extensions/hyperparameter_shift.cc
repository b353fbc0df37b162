#include "kusari/framework/training/extensions/hyperparameter_shift.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/optional_entry.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

HyperparameterShift::HyperparameterShift(const char* call, std::string attr, ShiftOptions options)
    : attr_{argument::not_empty(call, "attr", std::move(attr), "name a hyperparameter")}, options_{std::move(options)} {
  if (options_.init) argument::finite(call, "init", *options_.init);
  if (options_.target) argument::finite(call, "target", *options_.target);
}

double& HyperparameterShift::hyperparameter(Trainer& trainer) const {
  Optimizer& optimizer = options_.optimizer ? **options_.optimizer : trainer.updater().get_optimizer("main");
  return optimizer.hyperparameter(attr_);
}

double HyperparameterShift::stop_at_target(double value, bool growing) const {
  if (!options_.target) return value;
  const double ratio = value / *options_.target;  // right for negative values, too
  return (growing ? ratio > 1 : ratio < 1) ? *options_.target : value;
}

void HyperparameterShift::initialize(Trainer& trainer) {
  double& attribute = hyperparameter(trainer);
  if (!options_.init) options_.init = attribute;
  const auto now = t_ == 0 ? std::optional(first_value(*options_.init)) : value(t_, *options_.init);
  if (!now) return;
  if (!last_value_) last_value_ = now;
  attribute = *last_value_;
}

void HyperparameterShift::operator()(Trainer& trainer) {
  double& attribute = hyperparameter(trainer);
  if (!options_.init) options_.init = attribute;
  if (const auto next = value(++t_, *options_.init)) {
    last_value_ = next;
    attribute = *next;
  }
}

void HyperparameterShift::serialize(Serializer& serializer) {
  serialize_count(serializer, "_t", t_);
  // Chainer saves neither of these for some of the shifts, and the initial value for none: its optimizers, not being
  // saved either, still have it after a resume.
  const auto visit = [&](const char* name, std::optional<double>& value) {
    if (!serializer.contains(name)) return;
    serialize_optional(serializer, name, value);
    if (serializer.is_writer() || serializer.restores() || !value || std::isfinite(*value)) return;
    throw ValueError(serializer.place(name) + "is " + general_text(*value) + ": it must be finite");
  };
  visit("_last_value", last_value_);
  visit("_init", options_.init);
}

}  // namespace kusari::training::extensions
