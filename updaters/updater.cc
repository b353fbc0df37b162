#include "kusari/updaters/updater.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::updaters {

StepTimes StepTimes::since(const StepTimes& earlier) const noexcept {
  if (iterations < earlier.iterations) return *this;
  return {data - earlier.data, compute - earlier.compute, iterations - earlier.iterations, exchange - earlier.exchange};
}

void StepTimes::serialize(Serializer& serializer) {
  if (!serializer.is_writer() && !serializer.contains("iterations")) return;
  serialize_number(serializer, "data", data, EntryRange::not_negative);
  serialize_number(serializer, "compute", compute, EntryRange::not_negative);
  serialize_count(serializer, "iterations", iterations);
  if (serializer.is_writer() ? exchange > 0 : serializer.contains("exchange")) {
    serialize_number(serializer, "exchange", exchange, EntryRange::not_negative);
  }
}

Updater::~Updater() = default;

StepTimes Updater::step_times() const { return {}; }

void Updater::connect_trainer(training::Trainer&) {}

void Updater::finalize() {}

}  // namespace kusari::updaters
