#pragma once

#include <optional>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::distributed {

/// What agreed() makes.
class KUSARI_API AgreedTrigger final : public training::Trigger {
 public:
  AgreedTrigger(training::TriggerRef trigger, const Communicator& comm, int root = 0);

  bool operator()(training::Trainer& trainer) override;
  bool finished() const override { return trigger_.finished(); }
  std::optional<training::TrainingLength> get_training_length() const override {
    return trigger_.get_training_length();
  }
  void serialize(Serializer& serializer) override { trigger_.serialize(serializer); }

 private:
  training::TriggerRef trigger_;
  Communicator comm_;
  int root_;
};

/// A trigger that fires on all ranks when it fires on the root: for triggers that look at a clock, or at values that
/// the ranks do not share, where some ranks would stop training, or begin an extension that all take part in, and
/// others not. All ranks ask it at the same time, each with its own trigger, which keeps its state; one short message a
/// call. `trainer.extend(evaluator, {.trigger = agreed(triggers::TimeTrigger(60), comm)})`. Throws ValueError for a
/// root that is no rank, and without a trigger.
inline AgreedTrigger agreed(training::TriggerRef trigger, const Communicator& comm, int root = 0) {
  return AgreedTrigger(std::move(trigger), comm, root);
}

}  // namespace kusari::distributed
