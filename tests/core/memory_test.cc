#include "kusari/framework/core/memory.h"

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/core/child_process.h"

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

TEST_CASE("blocks of whole pages begin at different places of a page") {
  if (!is_pooled()) return;
  for (const size_t bytes : {size_t{4096}, size_t{16384}, size_t{65536}}) {
    std::vector<void*> blocks;
    std::set<uintptr_t> places;
    for (int i = 0; i < 12; ++i) {
      blocks.push_back(memory::allocate(bytes));
      places.insert(reinterpret_cast<uintptr_t>(blocks.back()) % 4096);
    }
    CAPTURE(bytes);
    CHECK(places.size() >= 4);  // four of the largest lie in one slab
    for (void* block : blocks) memory::deallocate(block, bytes);
  }
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

// Bytes that the pool takes from the system for `rounds` of blocks that other threads allocate and this one frees.
template <class Produce>
int64_t growth_of(int rounds, const Produce& produce) {
  const int64_t before = memory::statistics().reserved;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [block, bytes] : produce(round)) memory::deallocate(block, bytes);
  }
  return memory::statistics().reserved - before;
}

using Blocks = std::vector<std::pair<void*, size_t>>;

// Some 800 KiB of blocks that differ in size, from round to round too.
Blocks varied_blocks(int round) {
  Blocks blocks;
  for (int i = 0; i < 24; ++i) {
    const auto draw = static_cast<size_t>(round * 104729 + i * 7919) * 2654435761u % 65537;
    blocks.emplace_back(memory::allocate(draw), draw);
  }
  return blocks;
}

constexpr int64_t kGrowth = int64_t{24} << 20;  // 24 MiB: a block or two of each class, and what threads keep

TEST_CASE("memory does not grow with threads that free what others allocate") {
  if (!is_pooled()) return;
  constexpr int kRounds = 4000;
  Blocks made;
  std::barrier<> turn(2);
  std::thread producer([&] {
    for (int round = 0; round < kRounds; ++round) {
      made = varied_blocks(round);
      turn.arrive_and_wait();
      turn.arrive_and_wait();
    }
  });
  const int64_t growth = growth_of(kRounds, [&](int) {
    turn.arrive_and_wait();
    const Blocks taken = std::move(made);
    turn.arrive_and_wait();
    return taken;
  });
  producer.join();
  CHECK(growth < kGrowth);
}

TEST_CASE("memory does not grow with blocks that outlive their threads") {
  if (!is_pooled()) return;
  const int64_t growth = growth_of(2000, [](int round) {
    Blocks made;
    std::thread([&] { made = varied_blocks(round); }).join();
    return made;
  });
  CHECK(growth < kGrowth);
}

TEST_CASE("small blocks of one size serve another") {
  if (!is_pooled()) return;
  const auto fill = [](size_t bytes) {
    std::vector<void*> blocks;
    for (size_t total = 0; total < (size_t{64} << 20); total += bytes) blocks.push_back(memory::allocate(bytes));
    for (void* block : blocks) memory::deallocate(block, bytes);
  };
  fill(640);
  const int64_t reserved = memory::statistics().reserved;
  for (size_t bytes = 64; bytes <= 65536; bytes = bytes * 5 / 4 + 64) fill(bytes);
  CHECK(memory::statistics().reserved < reserved + (int64_t{48} << 20));
}

TEST_CASE("small blocks go back to the system on request, those that other threads keep with their next calls") {
  if (!is_pooled()) return;
  constexpr size_t kBytes = 3000, kBlocks = 20000;
  memory::release_cached();
  const int64_t before = memory::statistics().reserved;
  std::vector<void*> blocks(kBlocks);
  for (void*& block : blocks) block = memory::allocate(kBytes);
  CHECK(memory::statistics().reserved > before + (int64_t{50} << 20));
  for (void* block : blocks) memory::deallocate(block, kBytes);
  memory::release_cached();
  CHECK(memory::statistics().reserved <= before + (int64_t{1} << 20));

  std::atomic<int> stage{0};
  std::thread other([&] {
    Blocks kept;
    for (int i = 0; i < 12; ++i) kept.emplace_back(memory::allocate(60000), 60000);
    for (const auto& [block, bytes] : kept) memory::deallocate(block, bytes);
    stage = 1;
    stage.notify_all();
    stage.wait(1);
    memory::deallocate(memory::allocate(64), 64);
    memory::deallocate(memory::allocate(64), 64);
    stage = 3;
    stage.notify_all();
    stage.wait(3);
  });
  stage.wait(0);
  memory::release_cached();
  const int64_t kept = memory::statistics().reserved;
  stage = 2;
  stage.notify_all();
  stage.wait(2);
  memory::release_cached();
  CHECK(memory::statistics().reserved < kept);
  stage = 4;
  stage.notify_all();
  other.join();
}

constexpr int64_t kMemoryLimit = int64_t{1000} << 20;

// Bytes of blocks of one size that there is room for, all of which are freed. The list of blocks is given, with room
// for all of them, since malloc has nothing left for it where the pool has it all.
int64_t room_for(size_t bytes, std::vector<void*>& blocks) {
  blocks.clear();
  try {
    for (;;) blocks.push_back(memory::allocate(bytes));
  } catch (const OutOfMemoryError&) {
  }
  for (void* block : blocks) memory::deallocate(block, bytes);
  return static_cast<int64_t>(blocks.size() * bytes);
}

TEST_CASE("within a limit of addresses" * doctest::skip()) {
  // The rest is for the program, its libraries and stacks.
  constexpr int64_t kMost = kMemoryLimit * 2 / 3, kLargest = int64_t{600} << 20;
  std::vector<void*> blocks;
  blocks.reserve(kMemoryLimit / 3000);
  for (const int64_t bytes :
       {int64_t{1} << 20, int64_t{40000}, kLargest, int64_t{3000}, int64_t{1} << 16, int64_t{200000}, kLargest}) {
    CAPTURE(bytes);
    CHECK(room_for(static_cast<size_t>(bytes), blocks) >= (bytes == kLargest ? kLargest : kMost));
  }
  memory::release_cached();
  int64_t of_another_thread = 0;
  std::thread([&] { of_another_thread = room_for(5000, blocks); }).join();
  CHECK(of_another_thread >= kMost);
  CHECK(room_for(static_cast<size_t>(kLargest), blocks) >= kLargest);
}

TEST_CASE("limits of addresses and of memory are used to the end, by blocks of all sizes in turn") {
#if defined(__SANITIZE_THREAD__)
  return;  // takes all addresses for itself
#endif
  if (!is_pooled()) return;
  for (const char* limit : {"-v", "-d"}) {
    CAPTURE(limit);
    const testing::ChildResult result = testing::run_in_child(
        "sh -c 'ulimit " + std::string(limit) + " " + std::to_string(kMemoryLimit / 1024) + "; exec \"$0\" \"$@\"'",
        "within a limit of addresses");
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK(result.output.find("1 passed") != std::string::npos);
  }
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
