#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/run_ranks.h"

namespace kusari::testing {

/// What `f` gives on each of `n` ranks, in their order.
template <class T>
std::vector<T> on_ranks(int n, const std::function<T(distributed::Communicator&)>& f) {
  std::vector<T> results(static_cast<size_t>(n));
  std::mutex mutex;
  distributed::run_ranks(n, [&](distributed::Communicator& comm) {
    T result = f(comm);
    const std::lock_guard lock(mutex);
    results[static_cast<size_t>(comm.rank())] = std::move(result);
  });
  return results;
}

}  // namespace kusari::testing
