// The part of NCCL that cuda/ calls, for emulated devices: ranks are threads of one process. Work waits for that of the
// other ranks when it runs, and what they do must agree: the operation, its size and dtype, its place in the order, and
// whether a graph has it.

// The library looks for these names as it does in NCCL's.
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "device_memory.h"
#include "element.h"
#include "graphs.h"
#include "stream_queue.h"
#include "thread_device.h"

using namespace kusari::cuda::emulated;

namespace {

constexpr auto kPatience = std::chrono::seconds(60);

size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

/// What a rank does at a place of the order.
struct Call {
  const char* operation;
  size_t count;
  ncclDataType_t type;
  int root;
  bool is_captured;
  const void* from;
  void* to;

  bool agrees(const Call& other) const {
    return std::strcmp(operation, other.operation) == 0 && count == other.count && type == other.type &&
           root == other.root && is_captured == other.is_captured;
  }
  std::string text() const {
    return std::string(operation) + " of " + std::to_string(count) + " of type " + std::to_string(type) +
           (is_captured ? " in a graph" : "");
  }
};

/// Of all ranks.
struct Shared {
  explicit Shared(int n) : size{n} {}

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  bool has_failed = false;
  struct Meeting {
    std::map<int, Call> calls;
    bool is_done = false;
    int left = 0;
  };
  std::map<uint64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::deque<std::string>> messages;  // from, to

  /// Returns false when something has failed meanwhile.
  template <class Test>
  bool wait(std::unique_lock<std::mutex>& lock, const char* what, const Test& is_there) {
    const bool came = changed.wait_for(lock, kPatience, [&] { return has_failed || is_there(); });
    if (!came) fail(std::string("some rank has not come to ") + what);
    return came && !has_failed;
  }
  void fail(const std::string& text) {
    std::fprintf(stderr, "emulated NCCL: %s\n", text.c_str());
    has_failed = true;
    changed.notify_all();
  }
};

std::mutex g_mutex;
std::map<uint64_t, std::shared_ptr<Shared>> g_groups;
uint64_t g_last_id = 0;

template <class T>
void add(const std::vector<const Call*>& calls, std::vector<char>& sum, size_t bytes, size_t offset) {
  std::vector<T> total(bytes / sizeof(T));
  for (const Call* const call : calls) {
    const auto* const values = reinterpret_cast<const T*>(static_cast<const char*>(call->from) + offset);
    for (size_t i = 0; i < total.size(); ++i) total[i] = static_cast<T>(total[i] + values[i]);
  }
  std::memcpy(sum.data(), total.data(), bytes);
}

void add_halves(const std::vector<const Call*>& calls, std::vector<char>& sum, size_t count, size_t offset,
                Element element) {
  for (size_t i = 0; i < count; ++i) {
    float total = 0;
    for (const Call* const call : calls) {
      total += load_element<float>(static_cast<const char*>(call->from) + offset, static_cast<int64_t>(i), element);
    }
    store_element(sum.data(), static_cast<int64_t>(i), element, total);
  }
}

/// The sum, in the order of the ranks, of `count` elements from the byte `offset` on.
std::vector<char> sum_of(const std::vector<const Call*>& calls, size_t count, size_t offset) {
  const ncclDataType_t type = calls[0]->type;
  const size_t bytes = count * bytes_of(type);
  std::vector<char> sum(bytes);
  switch (type) {
    case ncclInt8:
      add<int8_t>(calls, sum, bytes, offset);
      break;
    case ncclUint8:
      add<uint8_t>(calls, sum, bytes, offset);
      break;
    case ncclInt32:
      add<int32_t>(calls, sum, bytes, offset);
      break;
    case ncclInt64:
      add<int64_t>(calls, sum, bytes, offset);
      break;
    case ncclFloat32:
      add<float>(calls, sum, bytes, offset);
      break;
    case ncclFloat64:
      add<double>(calls, sum, bytes, offset);
      break;
    default:
      add_halves(calls, sum, count, offset, type == ncclFloat16 ? Element::half : Element::bfloat16);
  }
  return sum;
}

void compute(const std::map<int, Call>& by_rank) {
  std::vector<const Call*> calls;
  for (const auto& [rank, call] : by_rank) calls.push_back(&call);
  const std::string operation = calls[0]->operation;
  const size_t count = calls[0]->count, bytes = count * bytes_of(calls[0]->type);
  const DeviceAccess access;
  if (operation == "ncclAllReduce" || operation == "ncclReduce") {
    const std::vector<char> sum = sum_of(calls, count, 0);
    for (size_t rank = 0; rank < calls.size(); ++rank) {
      const bool gets_it = operation == "ncclAllReduce" || static_cast<int>(rank) == calls[0]->root;
      if (gets_it) std::memcpy(calls[rank]->to, sum.data(), bytes);
    }
  } else if (operation == "ncclReduceScatter") {
    std::vector<std::vector<char>> sums;
    for (size_t rank = 0; rank < calls.size(); ++rank) sums.push_back(sum_of(calls, count, rank * bytes));
    for (size_t rank = 0; rank < calls.size(); ++rank) std::memcpy(calls[rank]->to, sums[rank].data(), bytes);
  } else if (operation == "ncclBroadcast") {
    const void* const from = calls[static_cast<size_t>(calls[0]->root)]->from;
    for (const Call* const call : calls) std::memmove(call->to, from, bytes);
  } else {  // ncclAllGather
    for (const Call* const call : calls) {
      for (size_t rank = 0; rank < calls.size(); ++rank) {
        std::memmove(static_cast<char*>(call->to) + rank * bytes, calls[rank]->from, bytes);
      }
    }
  }
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Shared> shared;
  int rank;
  bool is_aborted = false;
  uint64_t runs = 0;  // operations that have run
};

namespace {

void run_collective(ncclComm& comm, const Call& call) {
  Shared& shared = *comm.shared;
  std::unique_lock lock(shared.mutex);
  const uint64_t place = comm.runs++;
  Shared::Meeting& meeting = shared.meetings[place];
  meeting.calls[comm.rank] = call;
  if (!meeting.calls.begin()->second.agrees(call)) {
    const auto& [other, its] = *meeting.calls.begin();
    return shared.fail("operation " + std::to_string(place) + " is " + call.text() + " on rank " +
                       std::to_string(comm.rank) + " but " + its.text() + " on rank " + std::to_string(other));
  }
  if (static_cast<int>(meeting.calls.size()) == shared.size) {
    compute(meeting.calls);
    meeting.is_done = true;
    shared.changed.notify_all();
  } else if (!shared.wait(lock, call.operation, [&] { return meeting.is_done; })) {
    return;
  }
  if (++meeting.left == shared.size) shared.meetings.erase(place);
}

/// What a group of calls between ncclGroupStart and ncclGroupEnd sends and receives.
struct Pair {
  ncclComm* comm;
  cudaStream_t stream;
  bool sends;
  int peer;
  size_t bytes;
  void* data;
};
thread_local int t_depth = 0;
thread_local std::vector<Pair> t_pairs;

void run_pair(const Pair& pair) {
  Shared& shared = *pair.comm->shared;
  std::unique_lock lock(shared.mutex);
  const DeviceAccess access;
  if (pair.sends) {
    shared.messages[{pair.comm->rank, pair.peer}].emplace_back(static_cast<const char*>(pair.data), pair.bytes);
    return shared.changed.notify_all();
  }
  auto& messages = shared.messages[{pair.peer, pair.comm->rank}];
  if (!shared.wait(lock, "ncclSend", [&] { return !messages.empty(); })) return;
  if (messages.front().size() != pair.bytes) {
    return shared.fail("rank " + std::to_string(pair.comm->rank) + " receives " + std::to_string(pair.bytes) +
                       " bytes of the " + std::to_string(messages.front().size()) + " that rank " +
                       std::to_string(pair.peer) + " sends");
  }
  std::memcpy(pair.data, messages.front().data(), pair.bytes);
  messages.pop_front();
}

ncclResult_t give(cudaStream_t stream, std::function<void()> work) {
  if (keeps_work(stream)) return submit(stream, std::move(work)) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  work();
  return ncclSuccess;
}

ncclResult_t give_collective(ncclComm* comm, cudaStream_t stream, Call call) {
  if (comm == nullptr || comm->is_aborted) return ncclInvalidUsage;
  if (!can_call_library(stream)) return ncclUnhandledCudaError;
  const bool is_empty = call.count == 0;
  if (!is_empty && (device_of(call.from) < 0 || device_of(call.to) < 0)) return ncclInvalidArgument;
  call.is_captured = is_captured(stream);
  return give(stream, [comm, call] { run_collective(*comm, call); });
}

ncclResult_t add_pair(const Pair& pair) {
  if (pair.comm == nullptr || pair.comm->is_aborted || t_depth == 0) return ncclInvalidUsage;  // alone: not played
  if (!can_call_library(pair.stream)) return ncclUnhandledCudaError;
  if (pair.bytes > 0 && device_of(pair.data) < 0) return ncclInvalidArgument;
  t_pairs.push_back(pair);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(g_mutex);
  std::memset(id, 0, sizeof(*id));
  ++g_last_id;
  std::memcpy(id->internal, &g_last_id, sizeof(g_last_id));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  std::shared_ptr<Shared> shared;
  {
    const std::lock_guard lock(g_mutex);
    auto& found = g_groups[number];
    if (!found) found = std::make_shared<Shared>(size);
    shared = found;
  }
  std::unique_lock lock(shared->mutex);
  if (shared->size != size || rank < 0 || rank >= size) return ncclInvalidArgument;
  ++shared->joined;
  shared->changed.notify_all();
  if (!shared->wait(lock, "ncclCommInitRank", [&] { return shared->joined >= size; })) return ncclRemoteError;
  *comm = new ncclComm{shared, rank};
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) { return delete comm, ncclSuccess; }

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::lock_guard lock(comm->shared->mutex);
    comm->shared->has_failed = true;
    comm->shared->changed.notify_all();
  }
  return delete comm, ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(comm->shared->mutex);
  *error = comm->shared->has_failed ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess       ? "no error"
         : result == ncclRemoteError ? "remote process exited or there was an error"
                                     : "an error of the emulated NCCL";
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return give_collective(comm, stream, {"ncclAllReduce", count, type, 0, false, from, to});
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return give_collective(comm, stream, {"ncclReduce", count, type, root, false, from, to});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return give_collective(comm, stream, {"ncclBroadcast", count, type, root, false, from, to});
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return give_collective(comm, stream, {"ncclAllGather", count, type, 0, false, from, to});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return give_collective(comm, stream, {"ncclReduceScatter", count, type, 0, false, from, to});
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_pair({comm, stream, true, peer, count * bytes_of(type), const_cast<void*>(data)});
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add_pair({comm, stream, false, peer, count * bytes_of(type), data});
}
ncclResult_t ncclGroupStart() { return ++t_depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (--t_depth > 0) return ncclSuccess;
  const std::vector<Pair> pairs = std::move(t_pairs);
  t_pairs.clear();
  for (const bool sends : {true, false}) {
    for (const Pair& pair : pairs) {
      if (pair.sends != sends) continue;
      const ncclResult_t result = give(pair.stream, [pair] { run_pair(pair); });
      if (result != ncclSuccess) return result;
    }
  }
  return ncclSuccess;
}

}  // extern "C"
