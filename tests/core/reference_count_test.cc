#include "kusari/framework/core/reference_count.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace kusari::detail {
namespace {

// Adds and drops in turns that differ from thread to thread, so that no order of two of them hides a lost one.
void use(std::atomic<uint32_t>& references, std::atomic<uint64_t>& pairs, unsigned seed) {
  for (int i = 0; i < 20000; ++i) {
    const uint32_t more = 1 + (static_cast<uint32_t>(i) + seed) % 3;
    add_references(references, more);
    uint64_t seen = pairs.load();
    while (!replace_count(pairs, seen, seen + (uint64_t{1} << 32) + 1)) {
    }
    for (uint32_t k = 0; k < more; ++k) CHECK_FALSE(drop_reference(references));
    CHECK(take_from_count(pairs, uint64_t{1}) > 0);
  }
}

TEST_CASE("references are counted by one thread and by several") {
  std::atomic<uint32_t> references{0};
  std::atomic<uint64_t> pairs{0};
  add_references(references, 1u);
  CHECK(references == 1);
  use(references, pairs, 0);
  CHECK(references == 1);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([&, seed] { use(references, pairs, seed); });
  CHECK_FALSE(has_one_thread());
  use(references, pairs, 5);
  for (std::thread& thread : threads) thread.join();
  CHECK(references == 1);
  CHECK(pairs == uint64_t{6 * 20000} << 32);
  CHECK(drop_reference(references));
}

TEST_CASE("a count may reach zero and grow again") {
  std::atomic<uint32_t> count{0};
  for (int i = 0; i < 3; ++i) {
    add_to_count(count, 2u);
    CHECK(take_from_count(count, 1u) == 2);
    CHECK(take_from_count(count, 1u) == 1);
    CHECK(count == 0);
  }
}

TEST_CASE("a number is replaced only where it is the one that was seen") {
  const auto replace = [] {
    std::atomic<uint64_t> number{7};
    uint64_t seen = 6;
    CHECK_FALSE(replace_count(number, seen, uint64_t{9}));
    CHECK(seen == 7);
    CHECK(number == 7);
    CHECK(replace_count(number, seen, uint64_t{9}));
    CHECK(number == 9);
  };
  replace();
  std::thread(replace).join();
}

}  // namespace
}  // namespace kusari::detail
