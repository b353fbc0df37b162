#include "kusari/framework/training/triggers/time_trigger.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::triggers {

TimeTrigger::TimeTrigger(double period) : period_{period}, next_time_{period} {
  if (!(period > 0)) {
    throw ValueError("TimeTrigger: the period is " + std::to_string(period) + ": it must be positive");
  }
}

bool TimeTrigger::operator()(Trainer& trainer) {
  if (trainer.elapsed_time() <= next_time_) return false;
  next_time_ += period_;
  return true;
}

void TimeTrigger::serialize(Serializer& serializer) { serializer("next_time", next_time_); }

}  // namespace kusari::training::triggers
