#include "kusari/framework/core/deferred_copies.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "testing.h"

// What is sent ahead of its turn, and page-locked memory of others. On the emulated device the order of streams matters
// with KUSARI_EMULATED_STREAMS=deferred alone.
namespace kusari {
namespace {

using testing::full_pinned;
using testing::gpu_device;
using testing::is_full;

/// Whether work waits in queues until something demands it: what is not ordered then comes in a random order.
bool is_deferred() {
  const char* const streams = std::getenv("KUSARI_EMULATED_STREAMS");
  return streams != nullptr && std::strncmp(streams, "deferred", 8) == 0;
}

/// Pages that are not page-locked at first.
class Pages {
 public:
  static constexpr size_t kPage = 4096;

  explicit Pages(size_t count)
      : bytes_{count * kPage},
        data_{::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    REQUIRE(data_ != MAP_FAILED);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(data_, bytes_); }

  char* data() const { return static_cast<char*>(data_); }
  size_t bytes() const { return bytes_; }
  Array array(int64_t n, size_t offset = 0) const {
    return from_external(data() + offset, {n}, {1}, Dtype::int32, Device(), nullptr, nullptr);
  }

 private:
  size_t bytes_;
  void* data_;
};

TEST_CASE("pin: memory of others serves like empty_pinned") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  const Pages pages(16);
  CHECK_FALSE(backend.is_pinned(pages.data()));
  CHECK_FALSE(backend.is_copied_from(pages.data()));
  REQUIRE(backend.pin(pages.data(), 8 * Pages::kPage));
  CHECK(backend.is_pinned(pages.data() + 100));
  CHECK(backend.is_pinned(pages.data(), 8 * Pages::kPage));
  CHECK_FALSE(backend.is_pinned(pages.data(), 8 * Pages::kPage + 1));
  CHECK_FALSE(backend.is_pinned(pages.data() + 8 * Pages::kPage));
  // Twice, in parts, beyond, from the middle of a page, nothing.
  CHECK_FALSE(backend.pin(pages.data(), 8 * Pages::kPage));
  CHECK_FALSE(backend.pin(pages.data() + Pages::kPage, Pages::kPage));
  CHECK_FALSE(backend.pin(pages.data() + 4 * Pages::kPage, 8 * Pages::kPage));
  CHECK_FALSE(backend.pin(pages.data() + 12 * Pages::kPage, 0));
  CHECK(backend.pin(pages.data() + 8 * Pages::kPage, Pages::kPage));
  backend.unpin(pages.data() + 8 * Pages::kPage);
  backend.unpin(pages.data() + Pages::kPage);  // none begins there
  CHECK(backend.is_pinned(pages.data() + Pages::kPage));

  const Array inside = pages.array(8192, 0), outside = pages.array(8192 + 1, 0);
  int busy = 0;
  for (int32_t i = 0; i < 20; ++i) {
    inside.fill(i);
    const Array there = inside.to_device_beside(*device);
    busy += i % 2 == 0 && backend.is_copied_from(pages.data()) ? 1 : 0;  // asking brings the end nearer
    CHECK(is_full(there, i));
    CHECK_FALSE(backend.is_copied_from(pages.data()));
  }
  if (is_deferred()) CHECK(busy > 0);
  outside.fill(77);
  CHECK(is_full(outside.to_device_beside(*device), 77));  // reaches beyond: an ordinary copy

  inside.fill(5);
  const Array last = inside.to_device_beside(*device);
  backend.unpin(pages.data());  // waits for the copy
  inside.fill(6);
  CHECK(is_full(last, 5));
  CHECK_FALSE(backend.is_pinned(pages.data()));
  backend.unpin(pages.data());
  REQUIRE(backend.pin(pages.data(), Pages::kPage));
  backend.unpin(pages.data());
}

TEST_CASE("pin: on the CPU memory stays as it is") {
  const Pages pages(1);
  Backend& backend = Device().backend();
  CHECK_FALSE(backend.pin(pages.data(), pages.bytes()));
  CHECK_FALSE(backend.is_pinned(pages.data()));
  backend.unpin(pages.data());
}

TEST_CASE("pin: a ring that is written again when nothing copies from it") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  constexpr int kSlots = 3;
  constexpr int64_t kSize = 2000;
  const Pages pages(kSlots * 2);
  for (int slot = 0; slot < kSlots; ++slot) REQUIRE(backend.pin(pages.data() + slot * 2 * Pages::kPage, 8000));
  std::vector<Array> results;
  for (int32_t i = 0; i < 60; ++i) {
    char* slot = nullptr;
    for (int tried = 0; slot == nullptr; ++tried) {
      char* const candidate = pages.data() + (tried % kSlots) * 2 * static_cast<int>(Pages::kPage);
      if (!backend.is_copied_from(candidate)) slot = candidate;
    }
    const Array batch = from_external(slot, {kSize}, {1}, Dtype::int32, Device(), nullptr, nullptr);
    batch.fill(i);
    results.push_back(batch.to_device_beside(*device));
  }
  for (int32_t i = 0; i < 60; ++i) CHECK(is_full(results[static_cast<size_t>(i)], i));
  for (int slot = 0; slot < kSlots; ++slot) backend.unpin(pages.data() + slot * 2 * Pages::kPage);
}

TEST_CASE("deferred copies: batches two steps ahead") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr int64_t kSize = 3000;
  struct Sent {
    Array batch;
    std::unique_ptr<DeferredCopies> copies;
  };
  std::vector<Sent> queue;
  std::vector<Array> results;
  for (int32_t i = 0; i < 60; ++i) {
    Sent sent{{}, std::make_unique<DeferredCopies>()};
    // Page-locked, plain and strided memory in turn; all may go at once.
    switch (i % 3) {
      case 0:
        sent.batch = full_pinned(kSize, i, *device).to_device_beside(*device);
        break;
      case 1: {
        const Array plain = full({kSize}, i, Dtype::int32);
        sent.batch = plain.to_device_beside(*device);
        plain.fill(-1);
        break;
      }
      default:
        sent.batch = full({2 * kSize}, i, Dtype::int32).slice(0, 0, kSize, 2).to_device_beside(*device);
    }
    sent.copies->close();
    queue.push_back(std::move(sent));
    if (queue.size() < 3) continue;
    queue.front().copies->join();
    results.push_back(queue.front().batch.astype(Dtype::float32));
    queue.erase(queue.begin());  // its memory serves a later batch, after the kernel
  }
  REQUIRE(results.size() == 58);
  for (int32_t i = 0; i < 58; ++i) CHECK(is_full(results[static_cast<size_t>(i)].astype(Dtype::int32), i));
}

TEST_CASE("deferred copies: without join nothing is ordered, with it all is") {
  const auto device = gpu_device();
  if (!device || !is_deferred()) return;
  int wrong = 0;
  for (int32_t i = 0; i < 200; ++i) {
    const bool joins = i % 2 == 0;
    DeferredCopies copies;
    const Array batch = full_pinned(500, i, *device).to_device_beside(*device);
    copies.close();
    if (joins) copies.join();
    const Array used = batch.copy();
    const bool right = is_full(used, i);
    if (joins) CHECK(right);
    wrong += right ? 0 : 1;
    synchronize(*device);
    CHECK(is_full(batch, i));
  }
  CHECK(wrong > 0);
  CHECK(wrong < 200);
}

TEST_CASE("deferred copies: work before join does not wait for later batches") {
  const auto device = gpu_device();
  if (!device || !is_deferred()) return;
  Backend& backend = device->backend();
  // Copies that are still under way after the device's work is done: possible only where that did not wait for them.
  const auto count_late = [&](bool deferred) {
    int late = 0;
    for (int32_t i = 0; i < 100; ++i) {
      const Array next = full_pinned(500, i, *device);
      Array sent;
      DeferredCopies copies;
      if (!deferred) copies.close();
      sent = next.to_device_beside(*device);
      copies.close();
      const Array now = full({500}, i, Dtype::int32, *device);
      Event done(*device);
      done.record();
      done.synchronize();
      late += backend.is_copied_from(next.raw_data()) ? 1 : 0;
      copies.join();
      CHECK(is_full(sent, i));
    }
    return late;
  };
  CHECK(count_late(true) > 0);
  CHECK(count_late(false) == 0);
}

TEST_CASE("deferred copies: memory is not used again too early") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr int64_t kSize = 40000;
  for (int32_t round = 0; round < 10; ++round) {
    std::vector<std::pair<Array, Array>> kept;  // batch, what a kernel made of it
    for (int32_t i = 0; i < 12; ++i) {
      const int32_t value = 100 * round + i;
      DeferredCopies copies;
      Array batch = full_pinned(kSize, value, *device).to_device_beside(*device);
      if (i % 4 == 1) continue;  // dropped, neither joined nor used
      if (i % 4 == 2) batch = Array();
      copies.join();
      if (!batch.is_defined()) continue;
      Array used = batch.copy();
      if (i % 4 == 3) batch = Array();
      kept.emplace_back(std::move(batch), std::move(used));
    }
    size_t at = 0;
    for (int32_t i = 0; i < 12; ++i) {
      if (i % 4 == 1 || i % 4 == 2) continue;
      CHECK(is_full(kept[at].second, 100 * round + i));
      if (kept[at].first.is_defined()) CHECK(is_full(kept[at].first, 100 * round + i));
      ++at;
    }
  }
}

TEST_CASE("deferred copies: a page-locked block is not handed out while copies run") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr int64_t kSize = 5000;
  std::vector<Array> sent;
  DeferredCopies copies;
  for (int32_t i = 0; i < 40; ++i) sent.push_back(full_pinned(kSize, i, *device).to_device_beside(*device));
  copies.join();
  for (int32_t i = 0; i < 40; ++i) CHECK(is_full(sent[static_cast<size_t>(i)], i));
}

TEST_CASE("deferred copies: scopes") {
  const auto device = gpu_device();
  if (!device) return;
  CHECK(DeferredCopies::current() == nullptr);
  auto a = std::make_unique<DeferredCopies>();
  CHECK(DeferredCopies::current() == a.get());
  auto b = std::make_unique<DeferredCopies>();
  CHECK(DeferredCopies::current() == b.get());
  const Array of_b = full_pinned(100, 1, *device).to_device_beside(*device);
  a->close();  // in the order in which they began
  CHECK(DeferredCopies::current() == b.get());
  const Array also_of_b = full_pinned(100, 2, *device).to_device_beside(*device);
  b->join();
  b->join();
  CHECK(DeferredCopies::current() == nullptr);
  a->join();
  CHECK(is_full(of_b.copy(), 1));
  CHECK(is_full(also_of_b.copy(), 2));
  {
    const DeferredCopies unused;
    CHECK(DeferredCopies::current() == &unused);
    CHECK(full_pinned(0, 1, *device).to_device_beside(*device).size() == 0);
    const Array host = full({3}, 1, Dtype::int32);
    CHECK(host.to_device_beside(Device()).is_same(host));
    CHECK(host.to_device_beside(*device).to_device_beside(*device).device() == *device);
  }
  CHECK(DeferredCopies::current() == nullptr);
}

TEST_CASE("deferred copies: layouts stay") {
  const auto device = gpu_device();
  if (!device) return;
  const Array pixels = arange(2 * 5 * 4 * 3, Dtype::int32).reshape({2, 5, 4, 3}).transpose({0, 3, 1, 2});
  const Array windows = arange(2 * 5 * 4 * 3, Dtype::int32).reshape({2, 3, 5, 4}).slice(3, 1, 2);
  DeferredCopies copies;
  const Array sent_pixels = pixels.to_device_beside(*device), sent_windows = windows.to_device_beside(*device);
  copies.join();
  CHECK(sent_pixels.is_channels_last());
  CHECK(sent_windows.is_contiguous());
  CHECK(sent_pixels.to_vector<int>() == pixels.to_vector<int>());
  CHECK(sent_windows.to_vector<int>() == windows.to_vector<int>());
}

TEST_CASE("deferred copies: several devices") {
  const auto first = gpu_device(0), second = gpu_device(1);
  if (!first || !second) return;
  for (int32_t i = 0; i < 20; ++i) {
    DeferredCopies copies;
    const Array a = full_pinned(1000, i, *first).to_device_beside(*first);
    const Array b = full_pinned(1000, -i, *second).to_device_beside(*second);
    const Array c = full_pinned(1000, 2 * i, *first).to_device_beside(*first);
    copies.join();
    CHECK(is_full(b.copy(), -i));
    CHECK(is_full(a.copy(), i));
    CHECK(is_full(c.copy(), 2 * i));
  }
}

}  // namespace
}  // namespace kusari
