#pragma once

#include <optional>
#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::training::triggers {

/// Averages a reported value over the intervals of a trigger, and fires when an interval's mean is better than the best
/// before: the first one always is. An interval whose mean is NaN is never better; Chainer keeps it for ever when it
/// comes first. An interval in which the value was not reported does not count; the first time there is a warning with
/// the names that there are. chainer.training.triggers.BestValueTrigger.
class KUSARI_API BestValueTrigger : public Trigger {
 public:
  /// compare(best, mean): whether the mean is better.
  BestValueTrigger(std::string key, Callable<bool(double best, double mean)> compare,
                   TriggerRef trigger = {1, "epoch"});

  bool operator()(Trainer& trainer) override;
  /// Nothing before the first interval is over.
  std::optional<double> best_value() const noexcept { return best_; }
  void serialize(Serializer& serializer) override;

 private:
  std::string key_;
  Callable<bool(double, double)> compare_;
  TriggerRef interval_;
  DictSummary summary_;
  std::optional<double> best_;
  bool has_warned_ = false;
};

/// Fires when the mean of a reported value is larger than ever: a snapshot with the highest accuracy.
/// chainer.training.triggers.MaxValueTrigger.
class KUSARI_API MaxValueTrigger final : public BestValueTrigger {
 public:
  explicit MaxValueTrigger(std::string key, TriggerRef trigger = {1, "epoch"});
};

/// Fires when the mean of a reported value is smaller than ever. chainer.training.triggers.MinValueTrigger.
class KUSARI_API MinValueTrigger final : public BestValueTrigger {
 public:
  explicit MinValueTrigger(std::string key, TriggerRef trigger = {1, "epoch"});
};

}  // namespace kusari::training::triggers
