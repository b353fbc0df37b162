#include "kusari/framework/core/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"

namespace kusari {
namespace {

int threads_at_start() {
  if (const auto threads = environment::number("KUSARI_NUM_THREADS")) return static_cast<int>(*threads);
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

std::atomic<int>& setting() {
  static std::atomic<int> threads{threads_at_start()};
  return threads;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constinit thread_local bool t_inside = false;  // this thread works on a job: loops inside it run on it alone

// Workers that take chunks of one job at a time. The caller takes chunks too and waits only for workers that have
// taken one, so a worker that the system does not let run costs nothing; OpenMP's barriers wait for every thread and
// made training five times slower on a machine with a busy neighbour. Each thread has a share of its own, the same
// neighbouring chunks in every loop over as many, whose data it then finds in its caches, and takes those of others
// when it has done its own.
class Pool {
 public:
  void run(int threads, int64_t chunks, void (*body)(void*, int64_t), void* context) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || is_forked()) return run_alone(chunks, body, context);
    while (workers_ < std::min(threads - 1, max_workers_)) start_worker();
    body_ = body;
    context_ = context;
    helpers_ = std::min(threads - 1, workers_);
    divide(chunks);
    state_.store(kOpen, std::memory_order_release);
    jobs_.fetch_add(1, std::memory_order_release);
    jobs_.notify_all();
    t_inside = true;
    take_chunks(0);
    t_inside = false;
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spin = 0; state_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) {
        relax();
      } else {
        sched_yield();  // the core may be what the worker is waiting for
      }
    }
    if (has_failed_.load(std::memory_order_relaxed)) {
      has_failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

  static void run_alone(int64_t chunks, void (*body)(void*, int64_t), void* context) {
    for (int64_t i = 0; i < chunks; ++i) body(context, i);
  }

 private:
  static constexpr uint32_t kOpen = 1u << 31;  // in state_: the job still takes workers; the rest counts those inside
  static constexpr int kSpins = 2000;          // about 50 us of waiting for the next job before sleeping

  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };

  // No worker is inside: the one job before is done.
  void divide(int64_t chunks) {
    const int shares = helpers_ + 1;
    if (shares > room_) {
      shares_ = std::make_unique<Share[]>(static_cast<size_t>(shares));
      room_ = shares;
    }
    const int64_t each = chunks / shares, more = chunks % shares;
    int64_t begin = 0;
    for (int i = 0; i < shares; ++i) {
      shares_[static_cast<size_t>(i)].next.store(begin, std::memory_order_relaxed);
      begin += each + (i < more ? 1 : 0);
      shares_[static_cast<size_t>(i)].end = begin;
    }
  }

  // A thread whose chunk throws takes no more of them.
  void take_chunks(int own) noexcept {
    try {
      const int shares = helpers_ + 1;
      for (int k = 0, at = own; k < shares; ++k, at = at + 1 == shares ? 0 : at + 1) {
        Share& share = shares_[static_cast<size_t>(at)];
        while (share.next.load(std::memory_order_relaxed) < share.end) {
          const int64_t i = share.next.fetch_add(1, std::memory_order_relaxed);
          if (i < share.end) body_(context_, i);
        }
      }
    } catch (...) {
      if (!has_failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
    }
  }

  bool enter(int worker) {
    uint32_t state = state_.load(std::memory_order_acquire);
    while ((state & kOpen) != 0) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) {
        if (worker < helpers_) return true;
        leave();
        return false;
      }
    }
    return false;
  }
  void leave() { state_.fetch_sub(1, std::memory_order_acq_rel); }

  [[noreturn]] void work(int worker) {
    t_inside = true;
    uint32_t seen = 0;
    for (;;) {
      uint32_t now = jobs_.load(std::memory_order_acquire);
      for (int spin = 0; now == seen && spin < kSpins; ++spin) {
        relax();
        now = jobs_.load(std::memory_order_acquire);
      }
      if (now == seen) {
        jobs_.wait(seen, std::memory_order_acquire);
        continue;
      }
      seen = now;
      if (enter(worker)) {
        take_chunks(worker + 1);
        leave();
      }
    }
  }

  void start_worker() {
    std::string problem;
    // Signals belong to the program's own threads.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    try {
      std::thread([this, worker = workers_] { work(worker); }).detach();
      ++workers_;
    } catch (const std::exception& error) {  // system_error or bad_alloc; results do not depend on how many there are
      max_workers_ = workers_;
      problem = error.what();
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    if (!problem.empty()) {
      log::warn("threads: the system gives no more than " + std::to_string(workers_ + 1) + ": " + problem);
    }
  }

  std::mutex mutex_;  // one job at a time; a second caller works alone
  int workers_ = 0;
  int max_workers_ = std::numeric_limits<int>::max();
  void (*body_)(void*, int64_t) = nullptr;
  void* context_ = nullptr;
  int helpers_ = 0;
  std::unique_ptr<Share[]> shares_;  // the caller's, then the helpers'
  int room_ = 0;                     // for shares
  std::atomic<bool> has_failed_{false};
  std::exception_ptr error_;  // of the first chunk that threw; read when no worker is inside
  alignas(64) std::atomic<uint32_t> state_{0};
  alignas(64) std::atomic<uint32_t> jobs_{0};
};

constinit Lazy<Pool> pool;  // never destroyed: workers may be waiting while the process ends

}  // namespace

int num_threads() { return setting().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  if (n < 1) throw ValueError("set_num_threads: n is " + std::to_string(n) + " but must be at least 1");
  setting() = n;
}

SingleThreaded::SingleThreaded() noexcept : was_inside_{std::exchange(t_inside, true)} {}

SingleThreaded::~SingleThreaded() { t_inside = was_inside_; }

void detail::run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context) {
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), chunks));
  if (threads == 1 || t_inside) return Pool::run_alone(chunks, body, context);
  pool->run(threads, chunks, body, context);
}

}  // namespace kusari
