#include "kusari/framework/core/fork_safe.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace kusari {

/// All mutexes that were ever locked, and what fork() does with them.
struct ForkSafeMutexes {
  static inline constinit std::mutex list_mutex;
  static inline constinit ForkSafeMutex* first = nullptr;
  static inline constinit std::atomic<bool> is_child{false};

  static void add(ForkSafeMutex& mutex) {
    const std::scoped_lock lock(list_mutex);
    if (mutex.is_known_.load(std::memory_order_relaxed)) return;  // another thread was faster
    mutex.next_ = first;
    if (first != nullptr) first->previous_ = &mutex;
    first = &mutex;
    mutex.is_known_.store(true, std::memory_order_release);
  }

  static void remove(ForkSafeMutex& mutex) noexcept {
    const std::scoped_lock lock(list_mutex);
    (mutex.previous_ != nullptr ? mutex.previous_->next_ : first) = mutex.next_;
    if (mutex.next_ != nullptr) mutex.next_->previous_ = mutex.previous_;
  }

  // Threads take some of these mutexes while they hold others, in orders that nobody knows here: so all or none, and
  // never waiting with one in hand.
  static void lock_all() {
    while (!try_lock_all()) {
      ForkSafeMutex::fork_waits_.store(true, std::memory_order_relaxed);
      sched_yield();
    }
    ForkSafeMutex::fork_waits_.store(false, std::memory_order_relaxed);
  }

  static bool try_lock_all() {
    list_mutex.lock();
    ForkSafeMutex* mutex = first;
    while (mutex != nullptr && mutex->mutex_.try_lock()) mutex = mutex->next_;
    if (mutex == nullptr) return true;
    unlock_before(mutex);
    list_mutex.unlock();
    return false;
  }

  static void unlock_all() {
    unlock_before(nullptr);
    list_mutex.unlock();
  }

  // The child's only thread is the one that locked them.
  static void enter_child() {
    is_child.store(true, std::memory_order_relaxed);
    unlock_all();
  }

  static void unlock_before(const ForkSafeMutex* end) {
    for (ForkSafeMutex* mutex = first; mutex != end; mutex = mutex->next_) mutex->mutex_.unlock();
  }
};

// When the library is loaded: other handlers, which come later, run before in prepare and after in parent and child,
// and so may use what is protected here.
[[maybe_unused]] const int handlers_at_load =
    pthread_atfork(ForkSafeMutexes::lock_all, ForkSafeMutexes::unlock_all, ForkSafeMutexes::enter_child);

bool is_forked() noexcept { return ForkSafeMutexes::is_child.load(std::memory_order_relaxed); }

constinit std::atomic<bool> ForkSafeMutex::fork_waits_{false};

// Not for long: the caller may hold another mutex, for which the fork waits.
void ForkSafeMutex::let_fork_pass() noexcept {
  constexpr int kSleeps = 5;
  for (int i = 0; i < kSleeps && fork_waits_.load(std::memory_order_relaxed); ++i) usleep(10);
}

void ForkSafeMutex::make_known() { ForkSafeMutexes::add(*this); }
void ForkSafeMutex::forget() noexcept { ForkSafeMutexes::remove(*this); }

}  // namespace kusari
