#include "kusari/framework/testing/mock_updater.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::testing {

MockUpdater::MockUpdater(int64_t iterations_per_epoch, Callable<void()> update_core)
    : iterations_per_epoch_{argument::positive("MockUpdater", "iterations_per_epoch", iterations_per_epoch)},
      update_core_{std::move(update_core)} {}

void MockUpdater::update() {
  if (update_core_) update_core_();
  ++iteration_;
}

double MockUpdater::epoch_detail() const {
  return static_cast<double>(iteration_) / static_cast<double>(iterations_per_epoch_);
}

std::optional<double> MockUpdater::previous_epoch_detail() const {
  if (iteration_ == 0) return std::nullopt;
  return static_cast<double>(iteration_ - 1) / static_cast<double>(iterations_per_epoch_);
}

Optimizer& MockUpdater::get_optimizer(const std::string& name) {
  throw KeyError("MockUpdater: there is no optimizer '" + name + "', for it trains nothing");
}

void MockUpdater::serialize(Serializer& serializer) { serialize_count(serializer, "iteration", iteration_); }

training::Trainer get_trainer_with_mock_updater(training::TriggerRef stop_trigger, const MockTrainerOptions& options) {
  return training::Trainer(MockUpdater(options.iterations_per_epoch), std::move(stop_trigger), options.out);
}

}  // namespace kusari::testing
