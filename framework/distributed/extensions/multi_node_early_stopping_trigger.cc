#include "kusari/framework/distributed/extensions/multi_node_early_stopping_trigger.h"

#include "kusari/framework/core/serializer.h"

namespace kusari::distributed {

MultiNodeEarlyStoppingTrigger::MultiNodeEarlyStoppingTrigger(const Communicator& comm,
                                                             const MultiNodeEarlyStoppingOptions& options)
    : aggregator_{comm, options.monitor, options.monitor + options.suffix, {.comm_trigger = options.check_trigger}},
      trigger_{{.check_trigger = options.check_trigger,
                .monitor = options.monitor + options.suffix,
                .patience = options.patience,
                .mode = options.mode,
                .verbose = options.verbose,
                .max_trigger = options.max_trigger}} {}

bool MultiNodeEarlyStoppingTrigger::operator()(training::Trainer& trainer) {
  aggregator_(trainer);
  return trigger_(trainer);
}

void MultiNodeEarlyStoppingTrigger::serialize(Serializer& serializer) {
  trigger_.serialize(serializer);
  aggregator_.serialize(*serializer.child("_aggregator"));
}

}  // namespace kusari::distributed
