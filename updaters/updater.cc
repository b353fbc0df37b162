#include "kusari/updaters/updater.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {

StepTimes StepTimes::since(const StepTimes& earlier) const noexcept {
  if (iterations < earlier.iterations) return *this;
  return {data - earlier.data, compute - earlier.compute, iterations - earlier.iterations};
}

void StepTimes::serialize(Serializer& serializer) {
  if (!serializer.is_writer() && !serializer.contains("iterations")) return;
  serializer("data", data);
  serializer("compute", compute);
  serializer("iterations", iterations);
}

Updater::~Updater() = default;

StepTimes Updater::step_times() const { return {}; }

void Updater::connect_trainer(training::Trainer&) {}

void Updater::finalize() {}

}  // namespace kusari::updaters
