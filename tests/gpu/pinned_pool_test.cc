#include "kusari/cuda/runtime/pinned_pool.h"

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fake_device.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

using cuda::PinnedPool;
using testing::FakeDevice;
using testing::FakeHost;
using testing::kMiB;
using testing::kStreamA;
using testing::kStreamB;

TEST_CASE("pinned pool: blocks never overlap") {
  FakeHost host;
  PinnedPool pool(host);
  std::mt19937 random(1);
  std::map<char*, size_t> held;
  for (int step = 0; step < 3000; ++step) {
    if (held.empty() || (random() % 5 < 3 && held.size() < 200)) {
      const size_t bytes = 1 + random() % (random() % 2 == 0 ? size_t{3000} : size_t{300000});
      char* const data = static_cast<char*>(pool.allocate(bytes));
      REQUIRE(reinterpret_cast<uintptr_t>(data) % 512 == 0);
      const auto after = held.lower_bound(data);
      if (after != held.end()) REQUIRE(data + bytes <= after->first);
      if (after != held.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second <= data);
      std::memset(data, step & 0xff, bytes);
      held[data] = bytes;
    } else {
      auto at = held.begin();
      std::advance(at, random() % held.size());
      pool.deallocate(at->first);
      held.erase(at);
    }
  }
  for (const auto& [data, bytes] : held) pool.deallocate(data);
  CHECK(pool.statistics().allocated == 0);
  CHECK(pool.statistics().reserved == static_cast<int64_t>(host.held));
  CHECK(pool.allocate(0) == nullptr);
  pool.deallocate(nullptr);
}

TEST_CASE("pinned pool: at most a quarter of a block is lost") {
  FakeHost host;
  PinnedPool pool(host);
  for (size_t bytes = 1; bytes < 40 * kMiB; bytes = bytes * 9 / 8 + 1) {
    const int64_t before = pool.statistics().allocated;
    void* const data = pool.allocate(bytes);
    const auto taken = static_cast<size_t>(pool.statistics().allocated - before);
    CHECK(taken >= bytes);
    CHECK(taken <= bytes + bytes / 4 + 512);
    pool.deallocate(data);
  }
}

TEST_CASE("pinned pool: a block is used again after its copies") {
  FakeHost host;
  FakeDevice device(0);
  PinnedPool pool(host);
  void* const a = pool.allocate(kMiB);
  CHECK(pool.record_use(static_cast<char*>(a) + 1000, device, kStreamA));
  CHECK(pool.record_use(a, device, kStreamB));
  CHECK(pool.record_use(a, device, kStreamA));  // replaces the first
  CHECK(device.alive == 2);
  pool.deallocate(a);
  void* const b = pool.allocate(kMiB);
  CHECK(b != a);
  device.complete(kStreamA);
  void* const c = pool.allocate(kMiB);
  CHECK(c != a);
  device.complete(kStreamB);
  CHECK(pool.allocate(kMiB) == a);
  CHECK(device.alive == 0);
  pool.deallocate(b);
  CHECK(pool.allocate(kMiB) == b);  // no copies: at once
  int somewhere = 0;
  CHECK_FALSE(pool.record_use(&somewhere, device, kStreamA));
  CHECK_FALSE(pool.record_use(static_cast<char*>(a) + kMiB, device, kStreamA));
  pool.deallocate(c);
}

TEST_CASE("pinned pool: waits when copies lag far behind") {
  FakeHost host;
  FakeDevice device(0);
  PinnedPool pool(host);
  for (int i = 0; i < 400; ++i) {
    void* const data = pool.allocate(4 * kMiB);
    pool.record_use(data, device, kStreamA);
    pool.deallocate(data);
  }
  CHECK(host.held <= 270 * kMiB);
  CHECK(device.waits > 0);
}

TEST_CASE("pinned pool: memory of somebody else's") {
  FakeHost host;
  FakeDevice device(0);
  PinnedPool pool(host);
  auto* const own = static_cast<char*>(pool.allocate(1000));
  std::vector<char> memory(10000);
  char* const data = memory.data() + 1000;
  const memory::Statistics before = pool.statistics();
  CHECK_FALSE(pool.contains(data, 1));
  CHECK(pool.adopt(data, 5000));
  CHECK(pool.contains(data, 5000));
  CHECK(pool.contains(data + 4999, 1));
  CHECK(pool.contains(data + 100, 4900));
  CHECK_FALSE(pool.contains(data + 100, 4901));
  CHECK_FALSE(pool.contains(data - 1, 1));
  CHECK_FALSE(pool.contains(data + 5000, 1));
  CHECK(pool.contains(own, 1000));
  // Nothing that overlaps.
  for (const auto& [begin, bytes] : {std::pair{0, 5000}, {10, 20}, {-10, 11}, {4999, 10}, {-10, 6000}, {6000, 0}}) {
    CAPTURE(begin);
    CHECK_FALSE(pool.adopt(data + begin, static_cast<size_t>(bytes)));
  }
  CHECK_FALSE(pool.adopt(own + 100, 10));
  CHECK(pool.adopt(data + 5000, 100));
  CHECK(pool.adopt(data - 100, 100));

  CHECK_FALSE(pool.is_used(data));
  CHECK(pool.record_use(data + 4999, device, kStreamA));
  CHECK(pool.record_use(data, device, kStreamA));  // replaces the first
  CHECK(device.alive == 1);
  CHECK(pool.record_use(data, device, kStreamB));
  CHECK(pool.is_used(data + 3));
  CHECK_FALSE(pool.is_used(data + 5000));
  CHECK_FALSE(pool.is_used(memory.data()));
  device.complete(kStreamA);
  CHECK(pool.is_used(data));
  device.complete(kStreamB);
  CHECK_FALSE(pool.is_used(data));
  CHECK(device.alive == 0);

  // It is not the pool's to hand out, and goes only after its copies.
  pool.deallocate(data);
  CHECK(pool.contains(data, 5000));
  pool.release_cached();
  CHECK(pool.contains(data, 5000));
  CHECK(pool.record_use(data, device, kStreamA));
  CHECK(device.waits == 0);
  CHECK(pool.release_adopted(data));
  CHECK(device.waits == 1);
  CHECK(device.alive == 0);
  CHECK_FALSE(pool.contains(data, 1));
  CHECK_FALSE(pool.release_adopted(data));
  CHECK_FALSE(pool.release_adopted(own));
  CHECK_FALSE(pool.release_adopted(data + 5001));
  CHECK(pool.release_adopted(data + 5000));
  CHECK(pool.statistics().allocated == before.allocated);
  CHECK(pool.statistics().reserved == before.reserved);
  pool.deallocate(own);
}

TEST_CASE("pinned pool: release and out of memory") {
  FakeHost host;
  host.limit = 10 * kMiB;
  PinnedPool pool(host);
  void* const a = pool.allocate(4 * kMiB);
  pool.deallocate(a);
  pool.release_cached();
  CHECK(host.held == 0);
  void* const b = pool.allocate(8 * kMiB);
  CHECK_THROWS_AS(pool.allocate(4 * kMiB), OutOfMemoryError);
  pool.deallocate(b);
  CHECK(pool.allocate(4 * kMiB) != nullptr);  // what is cached makes room
}

}  // namespace
}  // namespace kusari
