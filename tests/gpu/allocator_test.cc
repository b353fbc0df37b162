#include "kusari/cuda/runtime/allocator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fake_device.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory_limit.h"

namespace kusari {
namespace {

using cuda::CachingAllocator;
using testing::FakeDevice;
using testing::kGiB;
using testing::kKiB;
using testing::kMiB;
using testing::kStreamA;
using testing::kStreamB;
using testing::kStreamC;

TEST_CASE("allocator: blocks never overlap, and everything coalesces") {
  FakeDevice device(64 * kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  std::mt19937_64 random(1);
  struct Held {
    size_t bytes;
    void* stream;
  };
  std::map<char*, Held> held;
  std::vector<char*> order;
  size_t bytes_held = 0;
  for (int step = 0; step < 60000; ++step) {
    if (order.empty() || (random() % 100 < 52 && bytes_held < 8 * kGiB)) {
      const uint64_t kind = random() % 100;
      const size_t bytes = 1 + (kind < 60   ? random() % (8 * kKiB)
                                : kind < 85 ? random() % kMiB
                                : kind < 97 ? random() % (10 * kMiB)
                                            : random() % (300 * kMiB));
      void* const stream = random() % 3 == 0 ? kStreamB : kStreamA;
      char* const data = static_cast<char*>(pool.allocate(bytes, stream));
      REQUIRE(reinterpret_cast<uintptr_t>(data) % 512 == 0);
      CHECK(pool.stream_of(data) == stream);
      const auto after = held.lower_bound(data);
      if (after != held.end()) REQUIRE(data + bytes <= after->first);
      if (after != held.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second.bytes <= data);
      auto segment = device.segments.upper_bound(data);
      REQUIRE(segment != device.segments.begin());
      --segment;
      REQUIRE(data + bytes <= segment->first + segment->second);
      held[data] = {bytes, stream};
      order.push_back(data);
      bytes_held += bytes;
    } else {
      std::swap(order[random() % order.size()], order.back());
      char* const data = order.back();
      order.pop_back();
      bytes_held -= held.at(data).bytes;
      held.erase(data);
      pool.deallocate(data);
    }
    if (step % 5000 == 0) {
      const memory::Statistics s = pool.statistics();
      CHECK(s.allocated >= static_cast<int64_t>(bytes_held));
      CHECK(s.reserved == static_cast<int64_t>(device.held));
      CHECK(s.max_allocated >= s.allocated);
      CHECK(s.system_allocations == device.asked);
      CHECK(pool.counters(true).reserved + pool.counters(false).reserved == s.reserved);
      CHECK(pool.counters(true).allocated + pool.counters(false).allocated == s.allocated);
      CHECK(pool.counters(true).blocks + pool.counters(false).blocks == static_cast<int64_t>(order.size()));
    }
  }
  for (char* data : order) pool.deallocate(data);
  CHECK(pool.statistics().allocated == 0);
  // Every segment is one free block again.
  pool.release_cached();
  CHECK(device.segments.empty());
  CHECK(pool.statistics().reserved == 0);
}

TEST_CASE("allocator: sizes of segments") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  const auto grows_by = [&](size_t bytes) {
    const size_t before = device.held;
    pool.allocate(bytes, kStreamA);
    return device.held - before;
  };
  CHECK(grows_by(1) == 2 * kMiB);
  CHECK(grows_by(kMiB) == 0);  // the rest of the slab
  CHECK(grows_by(kMiB) == 2 * kMiB);
  CHECK(grows_by(kMiB + 1) == 20 * kMiB);
  CHECK(grows_by(10 * kMiB) == 0);
  CHECK(grows_by(10 * kMiB) == 20 * kMiB);
  CHECK(grows_by(10 * kMiB + 1) == 12 * kMiB);
  CHECK(grows_by(33 * kMiB) == 34 * kMiB);
  CHECK(pool.allocate(0, kStreamA) == nullptr);
  pool.deallocate(nullptr);
}

TEST_CASE("allocator: best fit, and the block freed last") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  void* blocks[9];
  const size_t sizes[9] = {40 * kKiB, 512, 20 * kKiB, 512, 30 * kKiB, 512, 20 * kKiB, 512, kMiB};
  for (int i = 0; i < 9; ++i) blocks[i] = pool.allocate(sizes[i], kStreamA);
  for (int i : {0, 2, 4, 6}) pool.deallocate(blocks[i]);
  CHECK(pool.allocate(20 * kKiB, kStreamA) == blocks[6]);
  CHECK(pool.allocate(19 * kKiB, kStreamA) == blocks[2]);
  CHECK(pool.allocate(20 * kKiB + 1, kStreamA) == blocks[4]);
  CHECK(pool.allocate(31 * kKiB, kStreamA) == blocks[0]);
  // Above 1 MiB sizes share bins.
  void* const a = pool.allocate(100 * kMiB, kStreamA);
  void* const b = pool.allocate(102 * kMiB, kStreamA);
  pool.deallocate(a);
  pool.deallocate(b);
  CHECK(pool.allocate(101 * kMiB, kStreamA) == b);
  CHECK(pool.allocate(99 * kMiB, kStreamA) == a);
}

TEST_CASE("allocator: a stream's memory is not another's") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  void* const a = pool.allocate(1000, kStreamA);
  pool.deallocate(a);
  CHECK(pool.allocate(1000, kStreamB) != a);
  CHECK(pool.allocate(1000, kStreamA) == a);
}

TEST_CASE("allocator: memory used by another stream waits for it") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  constexpr size_t kBytes = 2 * kMiB;  // the whole slab is 20 MiB: fill it
  std::vector<void*> slab;
  for (int i = 0; i < 10; ++i) slab.push_back(pool.allocate(kBytes, kStreamA));
  REQUIRE(device.asked == 1);
  pool.record_use(slab[3], kStreamB);
  pool.record_use(slab[3], kStreamB);
  pool.record_use(slab[3], kStreamA);  // its own: nothing to wait for
  pool.deallocate(slab[3]);
  CHECK(device.alive == 1);
  CHECK(pool.statistics().allocated == static_cast<int64_t>(9 * kBytes));
  void* const other = pool.allocate(kBytes, kStreamA);
  CHECK(other != slab[3]);
  CHECK(device.asked == 2);
  // A block that is at hand is found without asking the device.
  const int queries = device.queries;
  pool.deallocate(slab[4]);
  CHECK(pool.allocate(kBytes, kStreamA) == slab[4]);
  CHECK(device.queries == queries);
  device.complete(kStreamB);
  for (int i = 0; i < 9; ++i) pool.allocate(kBytes, kStreamA);  // the second slab is full
  CHECK(device.asked == 2);
  CHECK(pool.allocate(kBytes, kStreamA) == slab[3]);
  CHECK(device.alive == 0);

  SUBCASE("two streams: both are waited for") {
    pool.record_use(slab[5], kStreamB);
    pool.record_use(slab[5], kStreamC);
    pool.deallocate(slab[5]);
    CHECK(device.alive == 2);
    device.complete(kStreamB);
    CHECK(pool.allocate(kBytes, kStreamA) != slab[5]);
    device.complete(kStreamC);
    for (int i = 0; i < 9; ++i) pool.allocate(kBytes, kStreamA);
    CHECK(pool.allocate(kBytes, kStreamA) == slab[5]);
    CHECK(device.alive == 0);
  }
  SUBCASE("an end with deferred blocks") {
    pool.record_use(slab[6], kStreamB);
    pool.deallocate(slab[6]);
  }
}

TEST_CASE("allocator: out of memory") {
  FakeDevice device(100 * kMiB);
  CachingAllocator pool(device, "cuda:3 (Some Card)", true);
  void* const kept = pool.allocate(30 * kMiB, kStreamA);
  void* const cached = pool.allocate(40 * kMiB, kStreamA);
  pool.deallocate(cached);
  SUBCASE("cached memory of any stream is given back") {
    CHECK(pool.allocate(60 * kMiB, kStreamB) != nullptr);
    CHECK(device.held == 90 * kMiB);
  }
  SUBCASE("memory that waits for a stream is waited for") {
    void* const used = pool.allocate(40 * kMiB, kStreamA);
    pool.record_use(used, kStreamB);
    pool.deallocate(used);
    CHECK(pool.allocate(40 * kMiB, kStreamA) == used);
    CHECK(device.waits == 1);
    CHECK(device.alive == 0);
  }
  SUBCASE("a slab that does not fit becomes smaller") {
    pool.allocate(64 * kMiB, kStreamA);
    CHECK(pool.allocate(4 * kMiB, kStreamA) != nullptr);
    CHECK(device.held == 98 * kMiB);
  }
  SUBCASE("the error says what there is") {
    try {
      pool.allocate(71 * kMiB, kStreamA);
      FAIL("no error");
    } catch (const OutOfMemoryError& error) {
      CHECK(std::string(error.what()) ==
            "cuda:3 (Some Card): no memory for 71.0 MiB; arrays hold 30.0 MiB, the pool keeps 0.0 MiB in pieces, "
            "70.0 MiB of 100.0 MiB are free");
    }
    CHECK_THROWS_AS(pool.allocate(~size_t{0}, kStreamA), OutOfMemoryError);
    CHECK_THROWS_AS(pool.allocate(~size_t{0} - 511, kStreamA), OutOfMemoryError);
    // Nothing was lost.
    CHECK(pool.statistics().allocated == static_cast<int64_t>(30 * kMiB));
    pool.deallocate(kept);
    CHECK(pool.allocate(100 * kMiB, kStreamA) != nullptr);
  }
}

TEST_CASE("allocator: a limit") {
  for (const bool pooled : {true, false}) {
    CAPTURE(pooled);
    FakeDevice device(kGiB);
    CachingAllocator pool(device, "cuda:0", pooled);
    CHECK(cuda::get_memory_limit() == 0);
    cuda::set_memory_limit(100 * kMiB);
    CHECK(cuda::get_memory_limit() == 100 * kMiB);
    void* const kept = pool.allocate(60 * kMiB, kStreamA);
    pool.deallocate(pool.allocate(30 * kMiB, kStreamB));
    // What is cached for another stream makes room.
    pool.allocate(40 * kMiB, kStreamA);
    CHECK(device.held == 100 * kMiB);
    CHECK_THROWS_WITH_AS(pool.allocate(2 * kMiB, kStreamA), doctest::Contains("; the pool's limit is 100.0 MiB"),
                         OutOfMemoryError);
    CHECK_THROWS_AS(pool.allocate(200 * kMiB, kStreamA), OutOfMemoryError);
    CHECK(device.held == 100 * kMiB);
    // One below what is held: nothing more, and nothing lost.
    cuda::set_memory_limit(kMiB);
    CHECK_THROWS_AS(pool.allocate(kMiB, kStreamB), OutOfMemoryError);
    cuda::set_memory_limit(0);
    CHECK(pool.allocate(300 * kMiB, kStreamA) != nullptr);
    pool.deallocate(kept);
  }
}

TEST_CASE("allocator: a released segment is whole and unused") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  void* const a = pool.allocate(3 * kMiB, kStreamA);
  void* const b = pool.allocate(3 * kMiB, kStreamA);
  void* const c = pool.allocate(50 * kMiB, kStreamB);
  pool.deallocate(a);
  pool.deallocate(c);
  pool.release_cached();
  CHECK(device.held == 20 * kMiB);
  CHECK(pool.allocate(3 * kMiB, kStreamA) == a);  // what could not be released is still there
  pool.deallocate(a);
  pool.deallocate(b);
  pool.release_cached();
  CHECK(device.held == 0);
}

TEST_CASE("allocator: statistics and the summary") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  void* const a = pool.allocate(1000, kStreamA);
  void* const b = pool.allocate(12 * kMiB, kStreamA);
  pool.deallocate(b);
  memory::Statistics s = pool.statistics();
  CHECK(s.allocated == 1024);
  CHECK(s.max_allocated == static_cast<int64_t>(12 * kMiB + 1024));
  CHECK(s.reserved == static_cast<int64_t>(14 * kMiB));
  CHECK(s.system_allocations == 2);
  pool.reset_max_allocated();
  CHECK(pool.statistics().max_allocated == 1024);
  CHECK(pool.counters(true).splits == 1);
  CHECK(pool.counters(true).segments == 1);
  CHECK(pool.counters(false).splits == 0);
  CHECK(pool.counters(false).blocks == 0);
  CHECK(pool.counters(false).allocations == 1);
  const std::string text = pool.summary();
  CHECK(text.find("cuda:0 memory pool") == 0);
  CHECK(text.find("reserved                  2.0 MiB       12.0 MiB       14.0 MiB\n") != std::string::npos);
  CHECK(text.find("blocks in use                   1              0              1\n") != std::string::npos);
  pool.deallocate(a);
}

TEST_CASE("allocator: without pooling every block is the source's") {
  FakeDevice device(kGiB);
  CachingAllocator pool(device, "cuda:0", false);
  void* const a = pool.allocate(1000, kStreamA);
  CHECK(device.held == 1000);
  void* const b = pool.allocate(3, kStreamA);
  CHECK(device.held == 1003);
  pool.deallocate(a);
  CHECK(device.held == 3);
  pool.record_use(b, kStreamB);
  pool.deallocate(b);
  CHECK(device.held == 3);
  device.complete(kStreamB);
  pool.release_cached();
  CHECK(device.held == 0);
  CHECK_THROWS_AS(pool.allocate(2 * kGiB, kStreamA), OutOfMemoryError);
}

TEST_CASE("allocator: what graphs hold is nobody else's, and stays theirs until memory is wanted") {
  for (const bool pooled : {true, false}) {
    CAPTURE(pooled);
    FakeDevice device(64 * kMiB);
    CachingAllocator pool(device, "cuda:0", pooled);
    int mark = 0;
    void* const graphs = &mark;
    pool.hold(graphs);
    void* const a = pool.allocate(3 * kMiB, graphs);
    void* const b = pool.allocate(1000, graphs);
    CHECK(pool.allocated_for(graphs) == pool.statistics().allocated);
    CHECK(pool.allocated_for(kStreamA) == 0);
    pool.deallocate(a);
    pool.deallocate(b);
    CHECK(pool.statistics().allocated == 0);
    const size_t held = device.held;
    CHECK(held > 0);
    pool.release_cached();
    CHECK(device.held == held);
    void* const other = pool.allocate(3 * kMiB, kStreamA);
    CHECK(other != a);
    pool.deallocate(other);
    if (pooled) CHECK(pool.allocate(3 * kMiB, graphs) == a);  // for the next graph
    if (pooled) pool.deallocate(a);
    CHECK_THROWS_AS(pool.allocate(62 * kMiB, kStreamA), OutOfMemoryError);  // not even now
    void* const late = pool.allocate(1000, graphs);

    pool.release_hold(graphs);
    if (pooled) {
      pool.hold(graphs);  // by the next graphs
      CHECK(pool.allocate(3 * kMiB, graphs) == a);
      pool.deallocate(a);
      pool.release_hold(graphs);
    }
    void* const next = pool.allocate(62 * kMiB, kStreamA);
    CHECK(pool.stream_of(late) == graphs);
    pool.deallocate(next);
    pool.deallocate(late);
    pool.release_cached();
    CHECK(device.held == 0);
    CHECK(pool.statistics().reserved == 0);
  }
}

TEST_CASE("allocator: several threads") {
  FakeDevice device(64 * kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<void*> held;
      for (int step = 0; step < 20000; ++step) {
        if (held.size() < 100 && random() % 2 == 0) {
          held.push_back(pool.allocate(1 + random() % (64 * kKiB), seed % 2 == 0 ? kStreamA : kStreamB));
        } else if (!held.empty()) {
          std::swap(held[random() % held.size()], held.back());
          pool.deallocate(held.back());
          held.pop_back();
        }
      }
      for (void* data : held) pool.deallocate(data);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.statistics().allocated == 0);
  pool.release_cached();
  CHECK(device.segments.empty());
}

TEST_CASE("allocator: its own cost") {
  FakeDevice device(64 * kGiB);
  CachingAllocator pool(device, "cuda:0", true);
  std::vector<void*> held;  // a model's worth of other blocks
  for (int i = 0; i < 1000; ++i) held.push_back(pool.allocate(static_cast<size_t>(i % 50 + 1) * 700, kStreamA));
  for (int i = 0; i < 1000; i += 3) pool.deallocate(held[static_cast<size_t>(i)]);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    constexpr int kPairs = 10000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPairs; i += 2) {
      void* const a = pool.allocate(static_cast<size_t>(1000 + i % 1000 * 64), kStreamA);
      void* const b = pool.allocate(4096, kStreamA);
      pool.deallocate(a);
      pool.deallocate(b);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / kPairs);
  }
  MESSAGE("allocate and deallocate: ", best, " ns");
  CHECK(best < 20000);  // a loaded machine, a sanitizer; some 50 ns by itself
}

}  // namespace
}  // namespace kusari
