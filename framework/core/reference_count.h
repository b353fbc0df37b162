#pragma once

#include <atomic>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

// Counts of references that several threads may change. A locked instruction costs as much as five others, and a small
// operation changes a dozen counts, so none is used where it can be told that nobody else can be changing them.
namespace kusari::detail {

/// Whether the process has one thread; false where the C library does not tell.
inline bool has_one_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

template <class Count>
[[gnu::always_inline]] inline void add_to_count(std::atomic<Count>& count, Count more) noexcept {
  if (has_one_thread()) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  } else {
    count.fetch_add(more, std::memory_order_relaxed);
  }
}

/// The count before.
template <class Count>
[[gnu::always_inline]] inline Count take_from_count(std::atomic<Count>& count, Count less) noexcept {
  if (!has_one_thread()) return count.fetch_sub(less, std::memory_order_acq_rel);
  const Count before = count.load(std::memory_order_relaxed);
  count.store(before - less, std::memory_order_relaxed);
  return before;
}

/// add_to_count for what has no references yet, so that its maker alone knows it, or some.
template <class Count>
[[gnu::always_inline]] inline void add_references(std::atomic<Count>& references, Count more) noexcept {
  if (references.load(std::memory_order_relaxed) == 0) {
    references.store(more, std::memory_order_relaxed);
  } else {
    add_to_count(references, more);
  }
}

/// Whether it was the last one. The count of a sole owner, to which nobody else can add, stays as it is.
template <class Count>
[[gnu::always_inline]] inline bool drop_reference(std::atomic<Count>& references) noexcept {
  return references.load(std::memory_order_acquire) == 1 || take_from_count(references, Count{1}) == 1;
}

/// Replaces `seen` by `count`; where it is another number, tells which, and returns false.
template <class Count>
[[gnu::always_inline]] inline bool replace_count(std::atomic<Count>& counts, Count& seen, Count count) noexcept {
  if (!has_one_thread()) {
    return counts.compare_exchange_strong(seen, count, std::memory_order_acq_rel, std::memory_order_acquire);
  }
  const Count present = counts.load(std::memory_order_relaxed);
  if (present != seen) {
    seen = present;
    return false;
  }
  counts.store(count, std::memory_order_relaxed);
  return true;
}

}  // namespace kusari::detail
