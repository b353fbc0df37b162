#include "kusari/framework/core/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/large_heap.h"
#include "kusari/framework/core/size_classes.h"
#include "kusari/framework/core/small_heap.h"

namespace kusari::memory {
namespace {

using Block = SmallHeap::Block;
using Chain = SmallHeap::Chain;

constexpr size_t kLargestBlock = size_t{1} << 46;
constexpr int64_t kFlush = 1 << 16;  // bytes a thread may allocate before the shared counters hear of it
// A thread that keeps more than its share, of all classes together, gives half of that to other threads.
constexpr int64_t kSharedCacheBytes = 1 << 23, kLeastThreadCacheBytes = 1 << 18;

struct ThreadCache {
  Block* head[kSmallClasses] = {};
  uint32_t count[kSmallClasses] = {};
  int64_t unreported = 0;  // bytes allocated less freed
  int64_t cached = 0;      // bytes in the lists when that was last reported
  // `unreported` is settled outside -window .. window; 0 bids the thread give back all that it keeps.
  std::atomic<int64_t> window{kFlush};
  ThreadCache* next = nullptr;  // of all caches, under the centre's mutex
  ThreadCache* previous = nullptr;
};

class Centre {
 public:
  Centre() {
#if defined(__SANITIZE_ADDRESS__)
    pooled_ = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    pooled_ = false;
#endif
#endif
    pooled_ = pooled_ && environment::flag("KUSARI_MEMORY_POOL").value_or(true);
  }

  // One object that is never destroyed, since arrays of static duration outlive everything.
  static Centre& get();

  bool pooled() const { return pooled_; }

  void enter(ThreadCache* cache) {
    const std::scoped_lock lock(mutex_);
    cache->next = caches_;
    if (caches_ != nullptr) caches_->previous = cache;
    caches_ = cache;
    share(1);
  }
  void leave(ThreadCache* cache) noexcept {
    const std::scoped_lock lock(mutex_);
    if (cache->next != nullptr) cache->next->previous = cache->previous;
    (cache->previous != nullptr ? cache->previous->next : caches_) = cache->next;
    share(-1);
  }
  // What each thread may keep.
  int64_t thread_cache_bytes() const noexcept { return thread_cache_bytes_.load(std::memory_order_relaxed); }

  Chain take_small(int cls, uint32_t wanted) {
    const std::scoped_lock lock(mutex_);
    return small_.take(cls, wanted);
  }
  void give_small(const Chain* chains, int count) noexcept {
    const std::scoped_lock lock(mutex_);
    for (int i = 0; i < count; ++i) small_.give(chains[i]);
  }

  void* take_large(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    return large_.allocate(bytes);
  }
  void give_large(void* block) noexcept {
    const std::scoped_lock lock(mutex_);
    large_.deallocate(block);
  }

  // What other threads keep follows with the next call of each.
  void release() noexcept {
    const std::scoped_lock lock(mutex_);
    for (ThreadCache* cache = caches_; cache != nullptr; cache = cache->next) {
      cache->window.store(0, std::memory_order_relaxed);
    }
    small_.release_unused();
    large_.release_unused();
  }

  void report(int64_t bytes) {
    const int64_t now = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = max_allocated_.load(std::memory_order_relaxed);
    while (now > peak && !max_allocated_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  Statistics statistics() {
    const std::scoped_lock lock(mutex_);
    return {allocated_.load(), max_allocated_.load(), reserved_.load() + small_.reserved() + large_.reserved(),
            system_allocations_.load() + small_.system_allocations() + large_.system_allocations()};
  }
  void reset_max() { max_allocated_.store(allocated_.load()); }

  // Null when there is none.
  void* from_system(size_t bytes) {
    void* block =
        std::aligned_alloc(kBlockAlignment, (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
    if (block == nullptr) return nullptr;
    reserved_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    system_allocations_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  [[noreturn]] void throw_out_of_memory(size_t bytes) {
    const Statistics s = statistics();
    throw OutOfMemoryError("memory::allocate: the system has no " + std::to_string(bytes) + " bytes; " +
                           std::to_string(s.allocated) + " bytes are in use and " +
                           std::to_string(s.reserved - s.allocated) + " cached");
  }

 private:
  void share(int more) noexcept {
    threads_ += more;
    thread_cache_bytes_.store(std::max(kLeastThreadCacheBytes, kSharedCacheBytes / std::max(threads_, 1)),
                              std::memory_order_relaxed);
  }

  ForkSafeMutex mutex_;
  LargeHeap large_;
  SmallHeap small_{large_};
  ThreadCache* caches_ = nullptr;
  int threads_ = 0;  // that have one
  std::atomic<int64_t> thread_cache_bytes_{kSharedCacheBytes};
  alignas(64) bool pooled_ = true;  // read by every thread all the time, so apart from what is written
  alignas(64) std::atomic<int64_t> allocated_{0}, max_allocated_{0}, reserved_{0}, system_allocations_{0};
};

constinit Lazy<Centre> centre;

Centre& Centre::get() { return *centre; }

// A pointer, because a library that is loaded at run time finds little room for what each thread has.
constinit thread_local ThreadCache* t_cache __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool t_is_ending __attribute__((tls_model("initial-exec"))) = false;

void flush_report(ThreadCache& cache) {
  Centre::get().report(cache.unreported);
  cache.cached -= cache.unreported;
  cache.unreported = 0;
}

// Gives `share` of each list, half of it or all, to the centre, for whoever needs it.
template <class Share>
void give_back(ThreadCache& cache, Share share) noexcept {
  std::array<Chain, kSmallClasses> chains;
  int n = 0;
  for (int cls = 0; cls < kSmallClasses; ++cls) {
    const uint32_t count = share(cache.count[cls]);
    if (count == 0) continue;
    Block* const first = cache.head[cls];
    Block* last = first;
    for (uint32_t i = 1; i < count; ++i) last = last->next;
    cache.head[cls] = last->next;
    cache.count[cls] -= count;
    cache.cached -= static_cast<int64_t>(count * class_bytes(cls));
    chains[static_cast<size_t>(n++)] = {cls, count, first, last};
  }
  if (n > 0) Centre::get().give_small(chains.data(), n);
}

void give_all(ThreadCache& cache) noexcept {
  give_back(cache, [](uint32_t count) { return count; });
}

void settle(ThreadCache& cache) noexcept {
  flush_report(cache);
  if (cache.window.load(std::memory_order_relaxed) == 0) {
    cache.window.store(kFlush, std::memory_order_relaxed);
    give_all(cache);
  } else if (cache.cached > Centre::get().thread_cache_bytes()) {
    give_back(cache, [](uint32_t count) { return (count + 1) / 2; });
  }
}

inline void count(ThreadCache& cache, int64_t bytes) noexcept {
  cache.unreported += bytes;
  const int64_t window = cache.window.load(std::memory_order_relaxed);
  if (cache.unreported > window || cache.unreported < -window) [[unlikely]]
    settle(cache);
}

// Ends the thread's cache with the thread.
struct CacheCloser {
  ~CacheCloser() {
    ThreadCache* const cache = t_cache;
    t_cache = nullptr;
    t_is_ending = true;
    flush_report(*cache);
    give_all(*cache);
    Centre::get().leave(cache);
    delete cache;
  }
};

// Null where a thread has none: without the pool, and while the thread ends.
ThreadCache* make_cache() {
  if (t_is_ending || !Centre::get().pooled()) return nullptr;
  ThreadCache* const cache = new (std::nothrow) ThreadCache;
  if (cache == nullptr) return nullptr;
  Centre::get().enter(cache);
  t_cache = cache;
  static thread_local CacheCloser closer;
  (void)closer;
  return cache;
}

// Gives back all that this thread and the centre keep, and bids the other threads do so.
void release_all() noexcept {
  if (t_cache != nullptr) {
    flush_report(*t_cache);
    give_all(*t_cache);
  }
  Centre::get().release();
}

// What `take` gives, at the second attempt without what the pool keeps.
template <class Take>
auto take_or_release(size_t bytes, const Take& take) {
  if (const auto taken = take()) return taken;
  release_all();
  if (const auto taken = take()) return taken;
  Centre::get().throw_out_of_memory(bytes);
}

void* allocate_from_system(size_t bytes) {
  void* const block = take_or_release(bytes, [&] { return Centre::get().from_system(std::max<size_t>(bytes, 1)); });
  Centre::get().report(static_cast<int64_t>(bytes));
  return block;
}

// The thread's list is empty.
void* allocate_small(size_t bytes, int cls) {
  if (!Centre::get().pooled()) return allocate_from_system(bytes);
  ThreadCache* const cache = t_cache != nullptr ? t_cache : make_cache();
  const size_t size = class_bytes(cls);
  const uint32_t wanted =
      cache == nullptr ? 1 : static_cast<uint32_t>(std::max<size_t>(1, std::min<size_t>(64, 16384 / size)));
  Chain chain;
  Block* const block = take_or_release(size, [&] {
    chain = Centre::get().take_small(cls, wanted);
    return chain.first;
  });
  if (cache == nullptr) {
    Centre::get().report(static_cast<int64_t>(size));
    return block;
  }
  cache->head[cls] = block->next;
  cache->count[cls] = chain.count - 1;
  cache->cached += static_cast<int64_t>(chain.count * size);
  count(*cache, static_cast<int64_t>(size));
  return block;
}

void deallocate_without_cache(void* block, int cls) noexcept {
  Block* const freed = ::new (block) Block{nullptr};
  const Chain chain{cls, 1, freed, freed};
  Centre::get().give_small(&chain, 1);
  Centre::get().report(-static_cast<int64_t>(class_bytes(cls)));
}

// The thread's small blocks are reported too, for peaks to be those of all memory.
void report_large(int64_t bytes) noexcept {
  if (t_cache != nullptr) flush_report(*t_cache);
  Centre::get().report(bytes);
}

void* allocate_large(size_t bytes) {
  if (bytes > kLargestBlock) {
    throw OutOfMemoryError("memory::allocate: " + std::to_string(bytes) + " bytes were asked for");
  }
  if (!Centre::get().pooled()) return allocate_from_system(bytes);
  void* const block = take_or_release(bytes, [&] { return Centre::get().take_large(bytes); });
  report_large(static_cast<int64_t>(bytes));
  return block;
}

void deallocate_large(void* block, size_t bytes) noexcept {
  report_large(-static_cast<int64_t>(bytes));
  Centre::get().give_large(block);
}

void deallocate_to_system(void* block, size_t bytes) noexcept {
  Centre::get().report(-static_cast<int64_t>(bytes));
  std::free(block);
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes > kSmallLimit) return allocate_large(bytes);
  const int cls = class_of(bytes);
  if (ThreadCache* const cache = t_cache) [[likely]] {
    if (Block* const block = cache->head[cls]) [[likely]] {
      cache->head[cls] = block->next;
      --cache->count[cls];
      count(*cache, static_cast<int64_t>(class_bytes(cls)));
      return block;
    }
  }
  return allocate_small(bytes, cls);
}

void deallocate(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  ThreadCache* cache = t_cache;
  if (cache == nullptr) [[unlikely]] {
    if (!Centre::get().pooled()) return deallocate_to_system(block, bytes);
  }
  if (bytes > kSmallLimit) return deallocate_large(block, bytes);
  const int cls = class_of(bytes);
  if (cache == nullptr) [[unlikely]] {
    cache = make_cache();
    if (cache == nullptr) return deallocate_without_cache(block, cls);
  }
  cache->head[cls] = ::new (block) Block{cache->head[cls]};
  ++cache->count[cls];
  count(*cache, -static_cast<int64_t>(class_bytes(cls)));
}

Statistics statistics() {
  if (t_cache != nullptr) flush_report(*t_cache);
  return Centre::get().statistics();
}

void reset_max_allocated() {
  if (t_cache != nullptr) flush_report(*t_cache);
  Centre::get().reset_max();
}

void release_cached() { release_all(); }

std::string summary() {
  const Statistics s = statistics();
  const auto mib = [](int64_t bytes) { return std::to_string(static_cast<double>(bytes) / (1 << 20)) + " MiB"; };
  return "host memory pool\n  in use       " + mib(s.allocated) + "\n  most in use  " + mib(s.max_allocated) +
         "\n  reserved     " + mib(s.reserved) + "\n  system calls " + std::to_string(s.system_allocations) + "\n";
}

}  // namespace kusari::memory
