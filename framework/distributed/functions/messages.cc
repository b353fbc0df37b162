#include "kusari/framework/distributed/functions/messages.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/connections.h"

namespace kusari::distributed::functions {

void send_message(const Communicator& comm, std::span<const Array> arrays, int rank, int tag) {
  const int64_t count = static_cast<int64_t>(arrays.size());
  comm.send_obj({reinterpret_cast<const char*>(&count), sizeof count}, rank, tag);
  for (const Array& array : arrays) comm.send(array, rank, tag);
}

std::vector<Array> recv_message(const Communicator& comm, int rank, int tag, const Device& device) {
  const std::string head = comm.recv_obj(rank, tag);
  int64_t count = 0;
  if (head.size() != sizeof count) {
    throw StateError("F::recv: what rank " + std::to_string(rank) +
                     " has sent does not come from F::send: a message of Communicator::recv or recv_obj");
  }
  std::memcpy(&count, head.data(), sizeof count);
  std::vector<Array> arrays;
  for (int64_t i = 0; i < count; ++i) arrays.push_back(comm.recv(rank, tag).to_device(device));
  return arrays;
}

void expect_peer(const Communicator& comm, const char* call, int rank, int tag) {
  expect_rank(comm, call, "rank", rank);
  if (rank == comm.rank()) {
    throw ValueError(std::string(call) + ": rank is " + std::to_string(rank) +
                     ", this rank itself: it must be another one, nobody else would answer");
  }
  if (tag >= 0 && tag < 32768) return;
  throw ValueError(std::string(call) + ": tag is " + std::to_string(tag) + ": it must be in [0, 32768)");
}

}  // namespace kusari::distributed::functions
