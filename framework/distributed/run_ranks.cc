#include "kusari/framework/distributed/run_ranks.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"

namespace kusari::distributed {
namespace {

bool is_remote(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const RemoteError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void run_ranks(int n, const Callable<void(Communicator&)>& f, const RunRanksOptions& options) {
  argument::require(n >= 1 && n <= 1024, "run_ranks", "n", n, "be in [1, 1024]");
  argument::not_negative("run_ranks", "intra_size", options.intra_size);
  argument::finite_positive("run_ranks", "stall_warning", options.stall_warning);
  argument::finite_positive("run_ranks", "timeout", options.timeout);
  argument::callable("run_ranks", "f", f);
  const ConfigSnapshot config;
  const uint64_t seed = random::bits();
  std::vector<std::unique_ptr<collectives::Transport>> transports =
      collectives::thread_transports(n, options.intra_size);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(n));
  enum class Start : uint8_t { undecided, all, none };
  std::atomic<Start> start{Start::undecided};
  const auto run_rank = [&](size_t rank) {
    start.wait(Start::undecided);
    if (start == Start::none) return;
    try {
      config.install();
      const random::LocalStream stream(seed);
      const collectives::WorldOptions waits{std::chrono::duration<double>(options.stall_warning),
                                            std::chrono::duration<double>(options.timeout)};
      const auto world = std::make_shared<collectives::Group>(std::move(transports[rank]), waits, false);
      try {
        Communicator communicator(world);
        f(communicator);
      } catch (...) {
        collectives::announce_failure(std::current_exception());
        throw;
      }
    } catch (...) {
      failures[rank] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  bool is_refused = false;
  try {
    for (size_t rank = 0; rank < static_cast<size_t>(n); ++rank) threads.emplace_back(run_rank, rank);
  } catch (const std::exception&) {  // system_error or bad_alloc: the others would wait for this rank
    is_refused = true;
  }
  start = is_refused ? Start::none : Start::all;
  start.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (is_refused) {
    throw WorkerError("run_ranks: no more than " + std::to_string(threads.size()) + " of " + std::to_string(n) +
                      " threads can be started");
  }
  std::exception_ptr first;
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    if (!is_remote(failure)) std::rethrow_exception(failure);
    if (!first) first = failure;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace kusari::distributed
