#include "kusari/framework/training/triggers/best_value_trigger.h"

#include <cmath>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/optional_entry.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/unseen_keys.h"

namespace kusari::training::triggers {

BestValueTrigger::BestValueTrigger(std::string key, Callable<bool(double, double)> compare, TriggerRef trigger)
    : key_{argument::not_empty("BestValueTrigger", "key", std::move(key), "name a reported value")},
      compare_{argument::callable("BestValueTrigger", "compare", std::move(compare))},
      interval_{std::move(trigger)} {}

bool BestValueTrigger::operator()(Trainer& trainer) {
  const ObservedValue* value = trainer.observation().find(key_);
  if (value != nullptr && value->is_scalar()) summary_.add(key_, *value);
  if (!interval_(trainer)) return false;
  if (!summary_.contains(key_)) {
    // Once: what is reported more seldom than the interval comes may be right.
    if (!std::exchange(has_warned_, true)) warn_of_absence("BestValueTrigger", key_, trainer.observation());
    return false;
  }
  const double mean = summary_.compute_mean().front().second;
  summary_.clear();
  if (std::isnan(mean) || (best_ && !compare_(*best_, mean))) return false;
  best_ = mean;
  return true;
}

void BestValueTrigger::serialize(Serializer& serializer) {
  interval_.serialize(*serializer.child("interval_trigger"));
  serialize_summary_of(serializer, summary_, key_);
  serialize_optional(serializer, "best_value", best_);
  if (best_ && std::isnan(*best_)) best_.reset();  // of Chainer's files
}

MaxValueTrigger::MaxValueTrigger(std::string key, TriggerRef trigger)
    : BestValueTrigger(
          std::move(key), [](double best, double mean) { return mean > best; }, std::move(trigger)) {}

MinValueTrigger::MinValueTrigger(std::string key, TriggerRef trigger)
    : BestValueTrigger(
          std::move(key), [](double best, double mean) { return mean < best; }, std::move(trigger)) {}

}  // namespace kusari::training::triggers
