#include "kusari/framework/distributed/extensions/agreed_trigger.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::distributed {

AgreedTrigger::AgreedTrigger(training::TriggerRef trigger, const Communicator& comm, int root)
    : trigger_{argument::callable("agreed", "trigger", std::move(trigger))}, comm_{comm}, root_{root} {
  if (root >= 0 && root < comm.size()) return;
  throw ValueError("agreed: root is " + std::to_string(root) + ": it must be in [0, " + std::to_string(comm.size()) +
                   "), the ranks of the communicator");
}

bool AgreedTrigger::operator()(training::Trainer& trainer) {
  return comm_.bcast_obj(trigger_(trainer) ? "1" : "0", root_) == "1";
}

}  // namespace kusari::distributed
