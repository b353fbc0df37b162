#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::training::triggers {

struct EarlyStoppingOptions {
  TriggerRef check_trigger = {1, "epoch"};  ///< when to compare
  std::string monitor = "main/loss";        ///< the reported value to watch
  int64_t patience = 3;                     ///< how many checks in a row without improvement end the training
  std::string mode = "auto";  ///< "max", "min", or "auto": max when the monitor's name contains "accuracy"
  bool verbose = false;
  TriggerRef max_trigger = {100, "epoch"};  ///< ends the training in any case
};

/// A stop trigger that fires when the mean of a reported value has not improved for some time. A check in whose
/// iteration it is not reported does not count; the first time there is a warning with the names that there are. Its
/// state is part of snapshots. Throws ValueError for another mode. chainer.training.triggers.EarlyStoppingTrigger.
class KUSARI_API EarlyStoppingTrigger final : public Trigger {
 public:
  explicit EarlyStoppingTrigger(EarlyStoppingOptions options = {});

  bool operator()(Trainer& trainer) override;
  std::optional<TrainingLength> get_training_length() const override {
    return options_.max_trigger.get_training_length();
  }
  void serialize(Serializer& serializer) override;

 private:
  EarlyStoppingOptions options_;
  bool larger_is_better_;
  DictSummary summary_;
  double best_;
  int64_t count_ = 0;
  bool has_warned_ = false;
};

}  // namespace kusari::training::triggers
