#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "testing.h"

namespace kusari {
namespace {

using testing::gpu_device;

constexpr int64_t kMebibyte = int64_t{1} << 20;

// Freed after everything else: that must do no harm.
Array outlives_everything;

std::vector<uint8_t> random_bytes(size_t n, unsigned seed = 0) {
  std::vector<uint8_t> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint8_t>((i + seed) * 2654435761u >> 13);
  return values;
}

// Whether memory that was given back is kept: not under AddressSanitizer or with KUSARI_MEMORY_POOL=0.
bool is_pooled(const Device& device) {
  empty({1}, Dtype::uint8, device);
  const int64_t before = device.backend().memory_statistics(device.index()).system_allocations;
  empty({1}, Dtype::uint8, device);
  return device.backend().memory_statistics(device.index()).system_allocations == before;
}

TEST_CASE("cuda backend: its library loads") {
  if (std::getenv("KUSARI_TEST_CUDA_LIBRARY") == nullptr) KUSARI_SKIP("KUSARI_TEST_CUDA_LIBRARY is not set");
  try {
    const Device device = get_device("cuda:0");
    CHECK(device.name() == "cuda:0");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()) == "get_device: 'cuda:0' is not there; CUDA devices: 0 (no CUDA device was found)");
  }
}

TEST_CASE("cuda backend: what it says of itself") {
  const auto device = gpu_device();
  if (!device) return;
  CHECK(cuda::is_available());
  CHECK(std::string(device->backend().name()) == "cuda");
  CHECK(device->backend().device_count() == cuda::device_count());
  CHECK(device->name() == "cuda:0");
  CHECK(get_device("@cupy:0") == *device);
  CHECK_FALSE(device->is_cpu());
  CHECK_THROWS_AS(get_device("cuda:" + std::to_string(cuda::device_count())), DeviceError);
  synchronize(*device);
  outlives_everything = ones({3}, Dtype::float32, *device);
}

TEST_CASE("cuda backend: copies of any size, which read the host's memory at once") {
  const auto device = gpu_device();
  if (!device) return;
  for (const size_t n :
       {size_t{1}, size_t{3}, size_t{511}, size_t{4096}, size_t(4 * kMebibyte), size_t(9 * kMebibyte + 5)}) {
    CAPTURE(n);
    std::vector<uint8_t> values = random_bytes(n);
    const Array x = array(values, *device);
    const std::vector<uint8_t> expected = values;
    std::fill(values.begin(), values.end(), uint8_t{0});
    CHECK(x.to_vector<uint8_t>() == expected);
    const Array y = empty({static_cast<int64_t>(n)}, Dtype::uint8, *device);
    device->backend().copy_within(0, y.raw_data(), x.raw_data(), n);
    CHECK(y.to_vector<uint8_t>() == expected);
  }
  device->backend().copy_from_host(0, nullptr, nullptr, 0);
  device->backend().copy_to_host(0, nullptr, nullptr, 0);
  device->backend().copy_within(0, nullptr, nullptr, 0);
}

TEST_CASE("cuda backend: page-locked arrays and copies beside the kernels") {
  const auto device = gpu_device();
  if (!device) return;
  const auto pinned_with = [&](const std::vector<uint8_t>& values) {
    const Array pinned = empty_pinned({static_cast<int64_t>(values.size())}, Dtype::uint8, *device);
    CHECK(pinned.device().is_cpu());
    std::memcpy(pinned.raw_data(), values.data(), values.size());
    return pinned;
  };
  // The page-locked array goes at once; the next one may not take its place before the copy is done.
  std::vector<Array> copies;
  for (unsigned i = 0; i < 20; ++i) copies.push_back(pinned_with(random_bytes(300000, i)).to_device_beside(*device));
  for (unsigned i = 0; i < 20; ++i) {
    CHECK(copies[i].device() == *device);
    const Array doubled = empty({300000}, Dtype::int32, *device);
    doubled.copy_from(copies[i]);
    const std::vector<int32_t> got = doubled.to_vector<int32_t>();
    CHECK(std::equal(got.begin(), got.end(), random_bytes(300000, i).begin()));
  }
  // Slots of a prefetcher: memory comes back, and no more than a few pieces are taken from the driver.
  copies.clear();
  const int64_t before = device->backend().memory_statistics(0).system_allocations;
  for (unsigned i = 0; i < 50; ++i) {
    const Array x = pinned_with(random_bytes(static_cast<size_t>(3 * kMebibyte), i)).to_device_beside(*device);
    CHECK(x.slice(0, 0, 10).to_vector<uint8_t>() == random_bytes(10, i));
  }
  if (is_pooled(*device)) CHECK(device->backend().memory_statistics(0).system_allocations <= before + 2);

  // Strides, no elements, a plain source, and the CPU as the place.
  const Array images = pinned_with(random_bytes(2 * 3 * 4 * 5)).reshape({2, 4, 5, 3}).transpose({0, 3, 1, 2});
  CHECK(images.to_device_beside(*device).strides() == images.strides());
  CHECK(images.to_device_beside(*device).to_vector<int>() == images.to_vector<int>());
  CHECK(empty_pinned({0, 3}, Dtype::float32, *device).to_device_beside(*device).shape() == Shape{0, 3});
  CHECK(arange(5).to_device_beside(*device).to_vector<int>() == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(empty_pinned({2}, Dtype::float32, Device()).device().is_cpu());
  CHECK(images.to_device_beside(Device()).is_same(images));
  // Memory of the kernels' stream serves too.
  const Array pinned = pinned_with(random_bytes(1000)), plain = zeros({1000}, Dtype::uint8, *device);
  device->backend().copy_from_host_beside(0, plain.raw_data(), pinned.raw_data(), 1000);
  CHECK(plain.to_vector<uint8_t>() == random_bytes(1000));
}

TEST_CASE("cuda backend: memory is used again, counted and given back") {
  const auto device = gpu_device();
  if (!device) return;
  { const Array warm = empty({kMebibyte}, Dtype::float32, *device); }
  const memory::Statistics before = device->backend().memory_statistics(0);
  for (int i = 0; i < 100; ++i) full({kMebibyte}, i, Dtype::float32, *device);
  memory::Statistics after = device->backend().memory_statistics(0);
  if (is_pooled(*device)) CHECK(after.system_allocations == before.system_allocations);
  CHECK(after.allocated == before.allocated);
  cuda::reset_max_memory_allocated();
  {
    const Array a = empty({100 * kMebibyte}, Dtype::uint8, *device);
    CHECK(device->backend().memory_statistics(0).allocated == before.allocated + 100 * kMebibyte);
  }
  CHECK(cuda::max_memory_allocated() == static_cast<size_t>(before.allocated + 100 * kMebibyte));
  cuda::reset_max_memory_allocated();
  CHECK(cuda::max_memory_allocated() == static_cast<size_t>(before.allocated));
  const int64_t reserved = device->backend().memory_statistics(0).reserved;
  cuda::release_cached_memory();
  if (is_pooled(*device)) CHECK(device->backend().memory_statistics(0).reserved < reserved);
  CHECK(cuda::memory_summary().find("cuda:0") == 0);
  CHECK_THROWS_AS(cuda::memory_summary(99), DeviceError);
}

TEST_CASE("cuda backend: out of memory says what there is, and nothing is lost") {
  const auto device = gpu_device();
  if (!device) return;
  const int64_t before = device->backend().memory_statistics(0).allocated;
  try {
    empty({int64_t{1} << 43}, Dtype::uint8, *device);
    FAIL("8 TiB were found");
  } catch (const OutOfMemoryError& error) {
    const std::string text = error.what();
    CAPTURE(text);
    for (const char* part : {"empty: an array of shape (8796093022208,)", "cuda:0", "no memory for 8388608.0 MiB",
                             "arrays hold", "the pool keeps", "are free"}) {
      CHECK(text.find(part) != std::string::npos);
    }
  }
  CHECK(device->backend().memory_statistics(0).allocated == before);
  CHECK(ones({3}, Dtype::float32, *device).to_vector<int>() == std::vector<int>{1, 1, 1});
}

TEST_CASE("cuda backend: events measure the device's time") {
  const auto device = gpu_device();
  if (!device) return;
  Event begin(*device), end(*device);
  begin.record();
  for (int i = 0; i < 10; ++i) full({kMebibyte}, i, Dtype::float32, *device);
  end.record();
  end.synchronize();
  const double seconds = end.seconds_since(begin);
  CHECK(seconds > 0);
  CHECK(seconds < 60);
  Event moved = std::move(end);
  CHECK(moved.seconds_since(begin) == seconds);
}

TEST_CASE("cuda backend: names for profilers") {
  const auto device = gpu_device();
  if (!device) return;
  device->backend().push_range("outer");
  device->backend().push_range("");
  device->backend().pop_range();
  device->backend().pop_range();
}

TEST_CASE("cuda backend: kernels refuse arrays of another device") {
  const auto device = gpu_device();
  if (!device) return;
  const Array here = ones({2, 3}), there = ones({2, 3}, Dtype::float32, *device);
  const std::string expected = "launch: kernel 'copy' of device 'cuda:0' was given an array of shape (2, 3) on 'cpu'";
  CHECK_THROWS_WITH_AS(launch<kernels::Copy>(*device, here, there), expected.c_str(), DeviceError);
  CHECK_THROWS_WITH_AS(launch<kernels::Copy>(*device, there, here), expected.c_str(), DeviceError);
  CHECK_THROWS_AS(launch<kernels::Copy>(Device(), here, there), DeviceError);
  CHECK(here.to_vector<int>() == std::vector<int>(6, 1));
}

TEST_CASE("cuda backend: several threads") {
  const auto device = gpu_device();
  if (!device) return;
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const Array x = full({1000}, static_cast<int>(t) * 100 + i, Dtype::int32, *device);
        const std::vector<int> got = x.copy().to_vector<int>();
        wrong[t] += static_cast<int>(
            std::count_if(got.begin(), got.end(), [&](int v) { return v != static_cast<int>(t) * 100 + i; }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  // An array that ends in a thread that never used the device.
  Array last = ones({10}, Dtype::float32, *device);
  std::thread([owned = std::move(last)]() mutable { owned = Array(); }).join();
}

TEST_CASE("cuda backend: two devices") {
  const auto first = gpu_device(0), second = gpu_device(1);
  if (!first || !second) return;
  CHECK(*first != *second);
  const std::vector<uint8_t> values = random_bytes(5000);
  const Array a = array(values, *first);
  const Array b = a.to_device(*second);
  CHECK(b.device() == *second);
  CHECK(b.to_vector<uint8_t>() == values);
  CHECK(b.to_device(*first).to_vector<uint8_t>() == values);
  const Array wide = empty({2, 5000}, Dtype::float32, *second);
  wide.copy_from(a);  // another device, dtype and shape
  CHECK(wide.at(1).to_vector<uint8_t>() == values);
  const Array turned = array(values, {50, 100}, *first).transpose().slice(0, 1, 40, 2).to_device(*second);
  CHECK(turned.to_vector<uint8_t>() == array(values, {50, 100}).transpose().slice(0, 1, 40, 2).to_vector<uint8_t>());
  CHECK_THROWS_AS(launch<kernels::Copy>(*first, b, a), DeviceError);
  // Work alternates between them.
  for (int i = 0; i < 10; ++i) {
    const Array x = full({100}, i, Dtype::int32, i % 2 == 0 ? *first : *second);
    CHECK(x.copy().to_device(i % 2 == 0 ? *second : *first).to_vector<int>() == std::vector<int>(100, i));
  }
  Event begin(*first), end(*second);
  CHECK_THROWS_AS(end.seconds_since(begin), ValueError);
  const int64_t held = first->backend().memory_statistics(0).allocated;
  const Array more = empty({1 << 20}, Dtype::uint8, *second);
  CHECK(first->backend().memory_statistics(0).allocated == held);
  CHECK(cuda::memory_summary(1).find("cuda:1") == 0);
}

}  // namespace
}  // namespace kusari
