#include "kusari/framework/training/triggers/time_trigger.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::triggers {

TimeTrigger::TimeTrigger(double period)
    : period_{argument::positive("TimeTrigger", "period", period)}, next_time_{period} {}

bool TimeTrigger::operator()(Trainer& trainer) {
  if (trainer.elapsed_time() <= next_time_) return false;
  next_time_ += period_;
  return true;
}

void TimeTrigger::serialize(Serializer& serializer) {
  serialize_number(serializer, "next_time", next_time_, EntryRange::not_negative);
}

}  // namespace kusari::training::triggers
