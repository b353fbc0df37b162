#include "kusari/framework/distributed/extensions/multi_node_early_stopping_trigger.h"

#include <utility>

#include "kusari/framework/core/serializer.h"

namespace kusari::distributed {
namespace {

training::TriggerRef answer_of(std::shared_ptr<bool> fires) {
  return [fires = std::move(fires)](training::Trainer&) { return *fires; };
}

}  // namespace

MultiNodeEarlyStoppingTrigger::MultiNodeEarlyStoppingTrigger(const Communicator& comm,
                                                             const MultiNodeEarlyStoppingOptions& options)
    : check_trigger_{options.check_trigger},
      fires_{std::make_shared<bool>(false)},
      aggregator_{comm, options.monitor, options.monitor + options.suffix, {.comm_trigger = answer_of(fires_)}},
      trigger_{{.check_trigger = answer_of(fires_),
                .monitor = options.monitor + options.suffix,
                .patience = options.patience,
                .mode = options.mode,
                .verbose = options.verbose,
                .max_trigger = options.max_trigger}} {}

bool MultiNodeEarlyStoppingTrigger::operator()(training::Trainer& trainer) {
  *fires_ = check_trigger_(trainer);
  aggregator_(trainer);
  return trigger_(trainer);
}

void MultiNodeEarlyStoppingTrigger::serialize(Serializer& serializer) {
  trigger_.serialize(serializer);
  if (!serializer.contains("count")) return;
  check_trigger_.serialize(*serializer.child("check_trigger"));
  aggregator_.serialize(*serializer.child("aggregator"));
}

}  // namespace kusari::distributed
