#pragma once

#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/distributed/communicator.h"

// Several arrays as one message between two ranks: their number, then each.
namespace kusari::distributed::functions {

void send_message(const Communicator& comm, std::span<const Array> arrays, int rank, int tag);
std::vector<Array> recv_message(const Communicator& comm, int rank, int tag, const Device& device);

/// Throws ValueError unless `rank` is another one of the communicator's, and for a tag out of range.
void expect_peer(const Communicator& comm, const char* call, int rank, int tag);

}  // namespace kusari::distributed::functions
