#include "kusari/updaters/updater.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {

StepTimes StepTimes::since(const StepTimes& earlier) const noexcept {
  if (iterations < earlier.iterations) return *this;
  return {data - earlier.data, compute - earlier.compute, iterations - earlier.iterations};
}

void StepTimes::serialize(Serializer& serializer) {
  if (!serializer.is_writer() && !serializer.contains("iterations")) return;
  serialize_number(serializer, "data", data, EntryRange::not_negative);
  serialize_number(serializer, "compute", compute, EntryRange::not_negative);
  serialize_count(serializer, "iterations", iterations);
}

Updater::~Updater() = default;

StepTimes Updater::step_times() const { return {}; }

void Updater::connect_trainer(training::Trainer&) {}

void Updater::finalize() {}

}  // namespace kusari::updaters
