#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/extensions/observation_aggregator.h"
#include "kusari/framework/training/trigger.h"
#include "kusari/framework/training/triggers/early_stopping_trigger.h"

namespace kusari::distributed {

/// Options of MultiNodeEarlyStoppingTrigger: those of triggers::EarlyStoppingTrigger, and a suffix.
struct MultiNodeEarlyStoppingOptions {
  training::TriggerRef check_trigger = {1, "epoch"};  ///< when to compare
  std::string monitor = "main/loss";                  ///< the reported value to watch
  int64_t patience = 3;                               ///< how many checks in a row without improvement end the training
  std::string mode = "auto";  ///< "max", "min", or "auto": max when the monitor's name contains "accuracy"
  bool verbose = false;
  training::TriggerRef max_trigger = {100, "epoch"};  ///< ends the training in any case
  std::string suffix = "_aggregated";                 ///< of the name under which the mean over the ranks is reported
};

/// A stop trigger that fires on all ranks, when the mean over all ranks of a reported value has not improved for some
/// time. Throws ValueError for another mode. chainermn.extensions.MultiNodeEarlyStoppingTrigger.
class KUSARI_API MultiNodeEarlyStoppingTrigger final : public training::Trigger {
 public:
  explicit MultiNodeEarlyStoppingTrigger(const Communicator& comm, const MultiNodeEarlyStoppingOptions& options = {});

  bool operator()(training::Trainer& trainer) override;
  std::optional<training::TrainingLength> get_training_length() const override {
    return trigger_.get_training_length();
  }
  void serialize(Serializer& serializer) override;

 private:
  training::TriggerRef check_trigger_;
  std::shared_ptr<bool> fires_;  // its answer, which both of these get: a trigger is asked once in an iteration
  ObservationAggregator aggregator_;
  training::triggers::EarlyStoppingTrigger trigger_;
};

}  // namespace kusari::distributed
