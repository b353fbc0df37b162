#include "kusari/framework/distributed/iterators/synchronized_iterator.h"

#include <string>

#include "kusari/framework/core/serializer.h"
#include "kusari/framework/distributed/byte_messages.h"

namespace kusari::distributed {

void synchronize_iterator(iterators::Iterator& iterator, const Communicator& communicator) {
  const auto serialize = [&](Serializer& serializer) { iterator.serialize(serializer); };
  const std::string bytes =
      communicator.bcast_obj(communicator.is_root() ? state_message(serialize) : std::string(), 0);
  if (!communicator.is_root()) read_state_message("create_synchronized_iterator", bytes, serialize);
}

}  // namespace kusari::distributed
