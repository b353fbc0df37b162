#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::training::triggers {

/// What an interval counts.
enum class Unit : uint8_t { epoch, iteration };
/// Throws ValueError, naming the trigger, for another name.
KUSARI_API Unit unit_from_name(const std::string& name, const char* trigger);
KUSARI_API const char* name(Unit unit) noexcept;

/// Where a run was when a trigger was last asked; what an interval is measured from.
struct KUSARI_API PreviousTime {
  int64_t iteration = 0;    // negative: a snapshot did not say
  double epoch_detail = 0;  // likewise

  /// In that unit, as of the trainer's last step where a snapshot did not say.
  double in(Unit unit, Trainer& trainer) const;
  static double now(Unit unit, Trainer& trainer);
  void update(Trainer& trainer);
  void serialize(Serializer& serializer, const char* trigger);
};

/// Fires whenever another `period` epochs or iterations are over; fractions of an epoch are allowed.
/// Throws ValueError unless the period is positive and the unit "epoch" or "iteration".
/// chainer.training.triggers.IntervalTrigger.
class KUSARI_API IntervalTrigger final : public Trigger {
 public:
  IntervalTrigger(double period, const std::string& unit);

  bool operator()(Trainer& trainer) override;
  std::optional<TrainingLength> get_training_length() const override { return TrainingLength{period_, name(unit_)}; }
  void serialize(Serializer& serializer) override { previous_.serialize(serializer, "IntervalTrigger"); }

 private:
  double period_;
  Unit unit_;
  PreviousTime previous_;
};

}  // namespace kusari::training::triggers
