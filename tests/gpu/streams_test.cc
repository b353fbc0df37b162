#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/kernels/user/user_kernel.h"
#include "testing.h"

// What the host may do while the device has yet to work. On the emulated device these tests say something with
// KUSARI_EMULATED_STREAMS=deferred alone.
namespace kusari {
namespace {

using testing::full_pinned;
using testing::gpu_device;
using testing::is_full;

TEST_CASE("streams: page-locked memory is not used again before it is copied") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {int64_t{100}, int64_t{5000}, int64_t{100000}}) {
    CAPTURE(n);
    std::vector<Array> copies;
    for (int32_t i = 0; i < 30; ++i) copies.push_back(full_pinned(n, i, *device).to_device_beside(*device));
    for (int32_t i = 0; i < 30; ++i) CHECK(is_full(copies[static_cast<size_t>(i)], i));
  }
}

TEST_CASE("streams: host memory may go after a copy from it") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {int64_t{10}, int64_t{50000}, int64_t{2500000}}) {
    CAPTURE(n);
    std::vector<Array> copies;
    for (int32_t i = 0; i < 4; ++i) {
      std::vector<int32_t> values(static_cast<size_t>(n), i);
      copies.push_back(array(values, *device));
      std::fill(values.begin(), values.end(), -1);
      // Memory that devices copy from by themselves, likewise.
      const Array pinned = full_pinned(n, 10 + i, *device);
      copies.push_back(pinned.to_device(*device));
      pinned.fill(-1);
    }
    for (int32_t i = 0; i < 4; ++i) {
      CHECK(is_full(copies[static_cast<size_t>(2 * i)], i));
      CHECK(is_full(copies[static_cast<size_t>(2 * i + 1)], 10 + i));
    }
  }
}

TEST_CASE("streams: copies to the host wait for the kernels") {
  const auto device = gpu_device();
  if (!device) return;
  const Array pinned = empty_pinned({1000}, Dtype::int32, *device);
  for (int32_t i = 0; i < 10; ++i) {
    const Array x = full({1000}, i, Dtype::int32, *device);
    CHECK(is_full(x.copy(), i));
    device->backend().copy_to_host(0, pinned.raw_data(), x.copy().raw_data(), static_cast<size_t>(x.nbytes()));
    CHECK(is_full(pinned, i));
    const Array y = x.copy();
    pinned.copy_from(y);
    CHECK(is_full(pinned, i));
  }
}

TEST_CASE("streams: copies beside the kernels wait for those that use the memory") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr int64_t kSize = 3000;
  // Memory of the kernels: an earlier one reads it, a later one has the copy.
  const Array x = full({kSize}, 1, Dtype::int32, *device);
  for (int32_t i = 2; i < 12; ++i) {
    const Array before = x.copy();
    const Array pinned = full_pinned(kSize, i, *device);
    device->backend().copy_from_host_beside(0, x.raw_data(), pinned.raw_data(), static_cast<size_t>(x.nbytes()));
    const Array after = x.copy();
    CHECK(is_full(before, i - 1));
    CHECK(is_full(after, i));
  }
}

TEST_CASE("streams: memory of copies beside the kernels is used again after the kernels") {
  const auto device = gpu_device();
  if (!device) return;
  constexpr int64_t kSize = 3000;
  // A prefetcher: a batch is copied, used and given back, and the host runs ahead.
  std::vector<Array> results;
  for (int32_t i = 0; i < 40; ++i) {
    const Array batch = full_pinned(kSize, i, *device).to_device_beside(*device);
    results.push_back(batch.astype(Dtype::float32));
  }
  for (int32_t i = 0; i < 40; ++i) CHECK(is_full(results[static_cast<size_t>(i)].astype(Dtype::int32), i));
  // And with what is copied next already under way, from a thread of its own.
  results.clear();
  Array next = full_pinned(kSize, 0, *device).to_device_beside(*device);
  for (int32_t i = 0; i < 40; ++i) {
    Array batch;
    std::thread([&] { batch = full_pinned(kSize, i + 1, *device).to_device_beside(*device); }).join();
    std::swap(batch, next);
    results.push_back(batch.astype(Dtype::float32));
  }
  for (int32_t i = 0; i < 40; ++i) CHECK(is_full(results[static_cast<size_t>(i)].astype(Dtype::int32), i));
}

TEST_CASE("streams: memory that is given back serves later kernels of the stream") {
  const auto device = gpu_device();
  if (!device) return;
  Array sum = zeros({777}, Dtype::int32, *device);
  const auto add = cuda::elementwise("int32 x, int32 y, int32 factor", "int32 z", "z = x + y * factor", "add_scaled");
  int32_t expected = 0;
  for (int32_t i = 0; i < 50; ++i) {
    // The numbers lie on the host's stack, and the arrays are gone when the kernel runs.
    sum = add(sum, full({777}, i, Dtype::int32, *device), i % 3);
    expected += i * (i % 3);
    if (i % 20 == 10) cuda::release_cached_memory();
  }
  CHECK(is_full(sum, expected));
}

TEST_CASE("streams: events are recorded where they stand") {
  const auto device = gpu_device();
  if (!device) return;
  Event begin(*device), middle(*device), end(*device);
  begin.record();
  const Array x = full({1 << 16}, 1, Dtype::int32, *device);
  middle.record();
  const Array y = x.copy();
  end.record();
  CHECK(middle.seconds_since(begin) > 0);
  CHECK(end.seconds_since(begin) >= middle.seconds_since(begin));
  middle.record();  // again, later
  CHECK(middle.seconds_since(end) >= 0);
  CHECK(is_full(y, 1));
}

TEST_CASE("streams: devices wait for each other's copies") {
  const auto first = gpu_device(0), second = gpu_device(1);
  if (!first || !second) return;
  constexpr int64_t kSize = 2000;
  std::vector<Array> copies;
  const Array source = empty({kSize}, Dtype::int32, *first);
  for (int32_t i = 0; i < 20; ++i) {
    source.fill(i);                               // not before the last copy
    copies.push_back(source.to_device(*second));  // not before the fill
    // A source that is gone, and whose memory is written next.
    copies.push_back(full({kSize}, 100 + i, Dtype::int32, *first).to_device(*second));
    // Back into memory that a kernel reads.
    const Array target = full({kSize}, -i, Dtype::int32, *first);
    const Array before = target.copy();
    target.copy_from(copies.back());
    copies.push_back(before);
    copies.push_back(target);
  }
  for (int32_t i = 0; i < 20; ++i) {
    const Array* const four = &copies[static_cast<size_t>(4 * i)];
    CHECK(is_full(four[0], i));
    CHECK(is_full(four[1], 100 + i));
    CHECK(is_full(four[2], -i));
    CHECK(is_full(four[3], 100 + i));
  }
}

}  // namespace
}  // namespace kusari
