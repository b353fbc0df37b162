#pragma once

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"

namespace kusari::distributed {

struct RunRanksOptions {
  double stall_warning = 30;  ///< seconds after which a rank that waits says so
  double timeout = 600;       ///< seconds after which it gives up
  int intra_size = 0;         ///< ranks of one pretended machine; 0: all
};

/// Calls f(communicator) in `n` threads of this process, as ranks 0 .. n-1 of a group, and returns when all are done:
/// for tests and debuggers. Each has the caller's config and a random stream of its own, all begun alike. When a rank
/// throws, the others get RemoteErrors at their next call; the first exception that is none is thrown again.
/// Throws ValueError for n outside [1, 1024], WorkerError when the system gives fewer threads.
KUSARI_API void run_ranks(int n, const Callable<void(Communicator&)>& f, const RunRanksOptions& options = {});

}  // namespace kusari::distributed
