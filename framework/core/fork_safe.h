#pragma once

#include <atomic>
#include <mutex>

#include "kusari/framework/core/export.h"

// fork() copies one thread and all memory: a mutex that another thread holds at that moment stays locked in the child
// for ever, and what it protects is half changed. These two are free and whole in every child.
namespace kusari {

/// A mutex that fork() waits for. A thread that forks holds none of them.
class KUSARI_API ForkSafeMutex {
 public:
  constexpr ForkSafeMutex() noexcept = default;
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
  ~ForkSafeMutex() {
    if (is_known_.load(std::memory_order_relaxed)) forget();
  }

  void lock() {
    if (fork_waits_.load(std::memory_order_relaxed)) [[unlikely]]
      let_fork_pass();
    if (!is_known_.load(std::memory_order_acquire)) [[unlikely]]
      make_known();
    mutex_.lock();
  }
  bool try_lock() {
    if (!is_known_.load(std::memory_order_acquire)) [[unlikely]]
      make_known();
    return mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct ForkSafeMutexes;
  static void let_fork_pass() noexcept;
  void make_known();
  void forget() noexcept;

  static std::atomic<bool> fork_waits_;

  std::mutex mutex_;
  // Known to the handlers of fork() from its first lock on, so that it can be made before any other object.
  std::atomic<bool> is_known_{false};
  ForkSafeMutex* next_ = nullptr;
  ForkSafeMutex* previous_ = nullptr;
};

/// An object that is made when it is first used and never destroyed, for namespaces: `constinit Lazy<Table> table;`.
/// A function's static that another thread is making at a fork would stay half made in the child.
template <class T>
class Lazy {
 public:
  constexpr Lazy() noexcept : mutex_{} {}
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  ~Lazy() {}  // not constexpr: the mutex has no such destructor, which clang minds

  T& operator*() {
    T* const made = object_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }
  T* operator->() { return &**this; }

 private:
  [[gnu::noinline]] T& make() {
    const std::scoped_lock lock(mutex_);
    if (object_.load(std::memory_order_relaxed) == nullptr) object_.store(new T, std::memory_order_release);
    return *object_.load(std::memory_order_relaxed);
  }

  std::atomic<T*> object_{nullptr};
  union {
    ForkSafeMutex mutex_;  // in a union, so that it outlives what statics' destructors do
  };
};

/// Whether this process was forked from one that had loaded this library: none of its threads came along.
KUSARI_API bool is_forked() noexcept;

}  // namespace kusari
