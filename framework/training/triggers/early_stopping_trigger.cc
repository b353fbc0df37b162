#include "kusari/framework/training/triggers/early_stopping_trigger.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/monitor_mode.h"
#include "kusari/framework/training/optional_entry.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/unseen_keys.h"

namespace kusari::training::triggers {

EarlyStoppingTrigger::EarlyStoppingTrigger(EarlyStoppingOptions options)
    : options_{std::move(options)},
      larger_is_better_{is_larger_better("EarlyStoppingTrigger", options_.mode, options_.monitor)},
      best_{(larger_is_better_ ? -1 : 1) * std::numeric_limits<double>::infinity()} {
  argument::not_empty("EarlyStoppingTrigger", "monitor", options_.monitor, "name a reported value");
  if (options_.patience < 1) {
    throw ValueError("EarlyStoppingTrigger: patience is " + std::to_string(options_.patience) +
                     ": it must be positive");
  }
  if (options_.verbose) std::printf("early stopping: operator is %s\n", larger_is_better_ ? "greater" : "less");
}

bool EarlyStoppingTrigger::operator()(Trainer& trainer) {
  const ObservedValue* value = trainer.observation().find(options_.monitor);
  const bool reported = value != nullptr && value->is_scalar();
  if (reported) summary_.add(options_.monitor, *value);
  if (options_.max_trigger(trainer)) return true;
  if (!options_.check_trigger(trainer)) return false;
  if (!reported) {
    if (!std::exchange(has_warned_, true)) {
      warn_of_absence("EarlyStoppingTrigger", options_.monitor, trainer.observation());
    }
    return false;
  }
  const double mean = summary_.compute_mean().front().second;
  summary_.clear();
  if (larger_is_better_ ? mean > best_ : mean < best_) {
    best_ = mean;
    count_ = 0;
  } else {
    ++count_;
  }
  if (count_ < options_.patience) return false;
  if (options_.verbose) {
    std::printf("Epoch %lld: early stopping\n", static_cast<long long>(trainer.updater().epoch()));
  }
  return true;
}

void EarlyStoppingTrigger::serialize(Serializer& serializer) {
  if (!serializer.contains("count")) return;  // Chainer's snapshots know nothing of this trigger
  serialize_count(serializer, "count", count_);
  double best = best_;
  serializer("best", best);
  if (!serializer.is_writer() && std::isnan(best)) throw ValueError(serializer.place("best") + "is nan");
  best_ = best;
  serialize_summary_of(serializer, summary_, options_.monitor);
  options_.check_trigger.serialize(*serializer.child("check_trigger"));
  options_.max_trigger.serialize(*serializer.child("max_trigger"));
}

}  // namespace kusari::training::triggers
