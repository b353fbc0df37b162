#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/trigger.h"
#include "kusari/framework/training/triggers/interval_trigger.h"

namespace kusari::training::triggers {

/// Fires once at each of these epochs (fractions are allowed) or iterations: `ManualScheduleTrigger({30, 60},
/// "epoch")`. Throws ValueError when there is no point or the unit is neither "epoch" nor "iteration".
/// chainer.training.triggers.ManualScheduleTrigger.
class KUSARI_API ManualScheduleTrigger final : public Trigger {
 public:
  ManualScheduleTrigger(std::vector<double> points, const std::string& unit);
  ManualScheduleTrigger(double point, const std::string& unit)
      : ManualScheduleTrigger(std::vector<double>{point}, unit) {}

  bool operator()(Trainer& trainer) override;
  bool finished() const override { return finished_; }
  void serialize(Serializer& serializer) override;

 private:
  std::vector<double> points_;
  Unit unit_;
  PreviousTime previous_;
  bool finished_ = false;
};

}  // namespace kusari::training::triggers
