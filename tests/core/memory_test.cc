#include "kusari/framework/core/memory.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

// Without the pool (AddressSanitizer, KUSARI_MEMORY_POOL=0) blocks are not kept.
bool is_pooled() {
  void* warm = memory::allocate(size_t{3} << 20);
  memory::deallocate(warm, size_t{3} << 20);
  const int64_t before = memory::statistics().system_allocations;
  memory::deallocate(memory::allocate(size_t{3} << 20), size_t{3} << 20);
  return memory::statistics().system_allocations == before;
}

TEST_CASE("blocks are aligned and keep their bytes") {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{1024}, size_t{1025},
                       size_t{65536}, size_t{65537}, size_t{1000000}, size_t{9} << 20}) {
    CAPTURE(bytes);
    auto* a = static_cast<unsigned char*>(memory::allocate(bytes));
    auto* b = static_cast<unsigned char*>(memory::allocate(bytes));
    CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
    CHECK(reinterpret_cast<uintptr_t>(b) % 64 == 0);
    CHECK(a != b);
    std::memset(a, 0x5a, bytes);
    std::memset(b, 0xa5, bytes);
    if (bytes > 0) CHECK(a[bytes - 1] == 0x5a);
    memory::deallocate(a, bytes);
    memory::deallocate(b, bytes);
  }
  memory::deallocate(nullptr, 100);
}

TEST_CASE("statistics follow allocations") {
  const int64_t before = memory::statistics().allocated;
  constexpr size_t kBytes = size_t{5} << 20;
  void* block = memory::allocate(kBytes);
  const memory::Statistics during = memory::statistics();
  CHECK(during.allocated - before >= static_cast<int64_t>(kBytes));
  CHECK(during.allocated - before <= static_cast<int64_t>(kBytes + kBytes / 8));  // the class's size
  CHECK(during.max_allocated >= during.allocated);
  memory::deallocate(block, kBytes);
  CHECK(memory::statistics().allocated == before);
  CHECK(memory::statistics().max_allocated >= during.allocated);
  memory::reset_max_allocated();
  CHECK(memory::statistics().max_allocated == before);
  CHECK(memory::summary().starts_with("host memory pool\n  in use "));
}

TEST_CASE("a steady program asks the system for nothing") {
  if (!is_pooled()) return;
  const auto step = [] {
    std::vector<Array> arrays;
    for (int64_t n : {1, 10, 100, 1000, 10000, 100000, 3000000}) arrays.push_back(empty({n}));
    arrays.push_back(arrays.back().reshape({1000, 3000}).transpose());
  };
  step();
  const memory::Statistics before = memory::statistics();
  for (int i = 0; i < 100; ++i) step();
  CHECK(memory::statistics().system_allocations == before.system_allocations);
  CHECK(memory::statistics().reserved == before.reserved);
  CHECK(memory::statistics().allocated == before.allocated);
}

TEST_CASE("memory of one size serves another") {
  if (!is_pooled()) return;
  constexpr size_t kMiB = size_t{1} << 20;
  memory::deallocate(memory::allocate(128 * kMiB), 128 * kMiB);
  const int64_t reserved = memory::statistics().reserved;
  std::vector<void*> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(memory::allocate(10 * kMiB));
  for (size_t i = 0; i < blocks.size(); i += 2) memory::deallocate(blocks[i], 10 * kMiB);
  for (size_t i = 1; i < blocks.size(); i += 2) memory::deallocate(blocks[i], 10 * kMiB);
  memory::deallocate(memory::allocate(120 * kMiB), 120 * kMiB);
  CHECK(memory::statistics().reserved == reserved);
}

TEST_CASE("large blocks do not overlap, whatever the order of their coming and going") {
  struct Block {
    unsigned char* data;
    size_t bytes;
    unsigned char mark;
  };
  const int64_t before = memory::statistics().allocated;
  std::vector<Block> live;
  uint64_t state = 1;
  const auto draw = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  bool intact = true;
  for (int i = 0; i < 4000; ++i) {
    if (live.size() < 40 && draw(2) == 0) {
      const size_t bytes = 65537 + draw(3) * draw(2000000) + draw(100);
      Block block{static_cast<unsigned char*>(memory::allocate(bytes)), bytes, static_cast<unsigned char>(i)};
      intact = intact && reinterpret_cast<uintptr_t>(block.data) % 64 == 0;
      for (size_t at = 0; at < bytes; at += 4096) block.data[at] = block.mark;
      block.data[bytes - 1] = block.mark;
      live.push_back(block);
    } else if (!live.empty()) {
      const size_t which = draw(live.size());
      const Block block = live[which];
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      for (size_t at = 0; at < block.bytes; at += 4096) intact = intact && block.data[at] == block.mark;
      intact = intact && block.data[block.bytes - 1] == block.mark;
      memory::deallocate(block.data, block.bytes);
    }
    if (i == 2000) memory::release_cached();
  }
  for (const Block& block : live) memory::deallocate(block.data, block.bytes);
  CHECK(intact);
  CHECK(memory::statistics().allocated == before);
}

TEST_CASE("cached blocks go back to the system on request") {
  if (!is_pooled()) return;
  memory::deallocate(memory::allocate(size_t{32} << 20), size_t{32} << 20);
  const int64_t reserved = memory::statistics().reserved;
  memory::release_cached();
  CHECK(memory::statistics().reserved <= reserved - (int64_t{32} << 20));
}

TEST_CASE("threads free what others allocated") {
  const int64_t before = memory::statistics().allocated;
  constexpr int kThreads = 4, kRounds = 50, kBlocks = 200;
  std::atomic<bool> intact{true};
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<unsigned char*>> made(kThreads);
    std::vector<std::thread> threads;
    const auto size = [round](int t, int i) {
      return static_cast<size_t>(1 + (t * 7919 + i * 104729 + round) % 90000);
    };
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kBlocks; ++i) {
          auto* block = static_cast<unsigned char*>(memory::allocate(size(t, i)));
          block[0] = static_cast<unsigned char>(t);
          block[size(t, i) - 1] = static_cast<unsigned char>(t);
          made[static_cast<size_t>(t)].push_back(block);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const int owner = (t + 1) % kThreads;
        for (int i = 0; i < kBlocks; ++i) {
          unsigned char* block = made[static_cast<size_t>(owner)][static_cast<size_t>(i)];
          if (block[0] != owner || block[size(owner, i) - 1] != owner) intact = false;
          memory::deallocate(block, size(owner, i));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(intact);
  CHECK(memory::statistics().allocated == before);  // ended threads have reported everything
}

TEST_CASE("too much memory is an error that states what was asked for") {
  try {
    memory::allocate(size_t{1} << 46);
    FAIL("64 TiB were given");
  } catch (const OutOfMemoryError& e) {
    const std::string text = e.what();
    CHECK(text.find("70368744177664 bytes") != std::string::npos);
    CHECK(text.find("bytes are in use and") != std::string::npos);
  }
  CHECK_THROWS_WITH_AS(memory::allocate(size_t{1} << 60), "memory::allocate: 1152921504606846976 bytes were asked for",
                       OutOfMemoryError);
}

TEST_CASE("objects in pooled memory") {
  struct Counted {
    explicit Counted(int* c) : count{c} { ++*count; }
    ~Counted() { --*count; }
    int* count;
  };
  int alive = 0;
  Counted* object = memory::create<Counted>(&alive);
  CHECK(alive == 1);
  memory::destroy(object);
  CHECK(alive == 0);
  struct Throws {
    Throws() { throw ValueError("no"); }
  };
  const int64_t before = memory::statistics().allocated;
  CHECK_THROWS_AS(memory::create<Throws>(), ValueError);
  CHECK(memory::statistics().allocated == before);
}

}  // namespace
}  // namespace kusari
