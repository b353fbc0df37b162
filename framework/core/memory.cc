#include "kusari/framework/core/memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/large_heap.h"

namespace kusari::memory {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kFineLimit = 1024;  // classes are multiples of 64 bytes up to here,
constexpr int kFineClasses = 16;     // then kSteps per doubling
constexpr int kSteps = 8;
constexpr int kSmallClasses = kFineClasses + 6 * kSteps;  // up to 64 KiB: cached per thread and cut from slabs
constexpr size_t kSmallLimit = size_t{1} << 16;           // larger ones are cut from segments
constexpr size_t kLargestBlock = size_t{1} << 46;
constexpr size_t kSlab = size_t{1} << 18;
constexpr int64_t kFlush = 1 << 16;  // bytes a thread may allocate before the shared counters hear of it
constexpr size_t kThreadCacheBytes = size_t{1} << 24;  // per class; more is passed on to other threads

int class_of(size_t bytes) {
  if (bytes <= kFineLimit) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kAlignment);
  const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 <= bytes - 1
  const size_t step = size_t{1} << (log2 - 3);
  const int within = static_cast<int>((bytes - 1 - (size_t{1} << log2)) / step);
  return kFineClasses + (log2 - 10) * kSteps + within;
}

size_t class_bytes(int cls) {
  if (cls < kFineClasses) return static_cast<size_t>(cls + 1) * kAlignment;
  const int log2 = (cls - kFineClasses) / kSteps + 10;
  const size_t within = static_cast<size_t>((cls - kFineClasses) % kSteps) + 1;
  return (size_t{1} << log2) + (within << (log2 - 3));
}

struct Block {
  Block* next;
};

struct ThreadCache {
  Block* head[kSmallClasses];
  uint32_t count[kSmallClasses];
  int64_t unreported;
  bool open;    // its flush at the thread's end is arranged and has not run
  bool closed;  // the thread is ending: blocks go straight to the centre
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

  // A chain of up to `wanted` blocks of a small class.
  Block* take_small(int cls, uint32_t wanted, uint32_t* taken) {
    const std::scoped_lock lock(mutex_);
    Block* chain = nullptr;
    uint32_t n = 0;
    while (n < wanted && free_[cls] != nullptr) {
      Block* block = free_[cls];
      free_[cls] = block->next;
      block->next = chain;
      chain = block;
      ++n;
    }
    const size_t size = class_bytes(cls);
    if (n == 0) {
      if (slab_left_ < size) {
        slab_ = static_cast<char*>(from_system(kSlab));
        slab_left_ = kSlab;
      }
      for (; n < wanted && slab_left_ >= size; ++n) {
        Block* block = reinterpret_cast<Block*>(slab_);
        slab_ += size;
        slab_left_ -= size;
        block->next = chain;
        chain = block;
      }
    }
    *taken = n;
    return chain;
  }

  void give_small(int cls, Block* first, Block* last) {
    const std::scoped_lock lock(mutex_);
    last->next = free_[cls];
    free_[cls] = first;
  }

  void* take_large(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    void* block = large_.allocate(bytes);
    if (block == nullptr) {
      large_.release_unused();
      block = large_.allocate(bytes);
    }
    if (block == nullptr) throw_out_of_memory(bytes);
    return block;
  }

  void give_large(void* block) noexcept {
    const std::scoped_lock lock(mutex_);
    large_.deallocate(block);
  }

  void release_large() {
    const std::scoped_lock lock(mutex_);
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
    return statistics_locked();
  }
  void reset_max() { max_allocated_.store(allocated_.load()); }

  void* from_system(size_t bytes) {
    void* block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (block == nullptr) throw_out_of_memory(bytes);
    reserved_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    system_allocations_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

 private:
  Statistics statistics_locked() const {
    return {allocated_.load(), max_allocated_.load(), reserved_.load() + large_.reserved(),
            system_allocations_.load() + large_.system_allocations()};
  }

  [[noreturn]] void throw_out_of_memory(size_t bytes) const {
    const Statistics s = statistics_locked();
    throw OutOfMemoryError("memory::allocate: the system has no " + std::to_string(bytes) + " bytes; " +
                           std::to_string(s.allocated) + " bytes are in use and " +
                           std::to_string(s.reserved - s.allocated) + " cached");
  }

  ForkSafeMutex mutex_;
  Block* free_[kSmallClasses] = {};
  LargeHeap large_;
  char* slab_ = nullptr;
  size_t slab_left_ = 0;
  alignas(64) bool pooled_ = true;  // read by every thread all the time, so apart from what is written
  alignas(64) std::atomic<int64_t> allocated_{0}, max_allocated_{0}, reserved_{0}, system_allocations_{0};
};

constinit Lazy<Centre> centre;

Centre& Centre::get() { return *centre; }

constinit thread_local ThreadCache t_cache __attribute__((tls_model("initial-exec"))) = {};

void flush_report(ThreadCache& cache) {
  Centre::get().report(cache.unreported);
  cache.unreported = 0;
}

void count(ThreadCache& cache, int64_t bytes) {
  cache.unreported += bytes;
  if (cache.unreported > kFlush || cache.unreported < -kFlush) flush_report(cache);
}

// Empties the thread's cache when the thread ends.
struct CacheCloser {
  ThreadCache* cache;
  ~CacheCloser() {
    for (int cls = 0; cls < kSmallClasses; ++cls) {
      Block* first = cache->head[cls];
      if (first == nullptr) continue;
      Block* last = first;
      while (last->next != nullptr) last = last->next;
      Centre::get().give_small(cls, first, last);
      cache->head[cls] = nullptr;
      cache->count[cls] = 0;
    }
    flush_report(*cache);
    cache->open = false;
    cache->closed = true;
  }
};

void arrange_flush(ThreadCache& cache) {
  static thread_local CacheCloser closer{&t_cache};
  (void)closer;
  cache.open = true;
}

void* refill(ThreadCache& cache, int cls) {
  if (!cache.open && !cache.closed) arrange_flush(cache);
  const size_t size = class_bytes(cls);
  const uint32_t wanted =
      cache.closed ? 1 : static_cast<uint32_t>(std::max<size_t>(1, std::min<size_t>(64, 32768 / size)));
  uint32_t taken = 0;
  Block* chain = Centre::get().take_small(cls, wanted, &taken);
  cache.head[cls] = chain->next;
  cache.count[cls] = taken - 1;
  return chain;
}

// Half of an overfull list goes to the centre, for threads that allocate what this one frees. A thread that only frees
// comes here first.
void spill(ThreadCache& cache, int cls) {
  if (!cache.open && !cache.closed) {
    arrange_flush(cache);
    return;
  }
  if (cache.closed) flush_report(cache);
  const uint32_t n = cache.closed ? cache.count[cls] : cache.count[cls] / 2;
  Block* first = cache.head[cls];
  Block* last = first;
  for (uint32_t i = 1; i < n; ++i) last = last->next;
  cache.head[cls] = last->next;
  cache.count[cls] -= n;
  Centre::get().give_small(cls, first, last);
}

void* allocate_large(ThreadCache& cache, size_t bytes, bool pooled) {
  if (bytes > kLargestBlock) {
    throw OutOfMemoryError("memory::allocate: " + std::to_string(bytes) + " bytes were asked for");
  }
  if (!cache.open && !cache.closed) arrange_flush(cache);
  void* const block = pooled ? Centre::get().take_large(bytes) : Centre::get().from_system(std::max<size_t>(bytes, 1));
  cache.unreported += static_cast<int64_t>(bytes);
  flush_report(cache);
  return block;
}

void deallocate_large(ThreadCache& cache, void* block, size_t bytes, bool pooled) noexcept {
  cache.unreported -= static_cast<int64_t>(bytes);
  flush_report(cache);
  if (pooled) return Centre::get().give_large(block);
  std::free(block);
}

}  // namespace

void* allocate(size_t bytes) {
  ThreadCache& cache = t_cache;
  if (bytes <= kSmallLimit) [[likely]] {
    const int cls = class_of(bytes);
    if (Block* block = cache.head[cls]) {
      cache.head[cls] = block->next;
      --cache.count[cls];
      count(cache, static_cast<int64_t>(class_bytes(cls)));
      return block;
    }
    if (Centre::get().pooled()) {
      void* const block = refill(cache, cls);
      count(cache, static_cast<int64_t>(class_bytes(cls)));
      return block;
    }
  }
  return allocate_large(cache, bytes, Centre::get().pooled());
}

void deallocate(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  ThreadCache& cache = t_cache;
  const bool pooled = Centre::get().pooled();
  if (bytes > kSmallLimit || !pooled) [[unlikely]]
    return deallocate_large(cache, block, bytes, pooled);
  const int cls = class_of(bytes);
  count(cache, -static_cast<int64_t>(class_bytes(cls)));
  Block* freed = static_cast<Block*>(block);
  freed->next = cache.head[cls];
  cache.head[cls] = freed;
  if (++cache.count[cls] > kThreadCacheBytes / class_bytes(cls) || !cache.open) spill(cache, cls);
}

Statistics statistics() {
  flush_report(t_cache);
  return Centre::get().statistics();
}

void reset_max_allocated() {
  flush_report(t_cache);
  Centre::get().reset_max();
}

void release_cached() { Centre::get().release_large(); }

std::string summary() {
  const Statistics s = statistics();
  const auto mib = [](int64_t bytes) { return std::to_string(static_cast<double>(bytes) / (1 << 20)) + " MiB"; };
  return "host memory pool\n  in use       " + mib(s.allocated) + "\n  most in use  " + mib(s.max_allocated) +
         "\n  reserved     " + mib(s.reserved) + "\n  system calls " + std::to_string(s.system_allocations) + "\n";
}

}  // namespace kusari::memory
