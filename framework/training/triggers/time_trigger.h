#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::training::triggers {

/// Fires whenever another `period` seconds of training are over, at most once an iteration.
/// chainer.training.triggers.TimeTrigger.
class KUSARI_API TimeTrigger final : public Trigger {
 public:
  explicit TimeTrigger(double period);

  bool operator()(Trainer& trainer) override;
  void serialize(Serializer& serializer) override;

 private:
  double period_;
  double next_time_;
};

}  // namespace kusari::training::triggers
