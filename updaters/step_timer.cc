#include "kusari/updaters/step_timer.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {

void StepTimer::end_step(double exchange) noexcept {
  times_.data += data_;
  times_.compute += steady_seconds() - begin_ - data_ - exchange;
  times_.exchange += exchange;
  ++times_.iterations;
}

void StepTimer::serialize(Serializer& serializer) { times_.serialize(serializer); }

}  // namespace kusari::updaters
