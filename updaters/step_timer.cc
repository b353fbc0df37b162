#include "kusari/updaters/step_timer.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {

void StepTimer::end_step(double exchange) noexcept {
  const auto seconds = [](Clock::duration duration) { return std::chrono::duration<double>(duration).count(); };
  times_.data += seconds(data_);
  times_.compute += seconds(Clock::now() - begin_ - data_) - exchange;
  times_.exchange += exchange;
  ++times_.iterations;
}

void StepTimer::serialize(Serializer& serializer) { times_.serialize(serializer); }

}  // namespace kusari::updaters
