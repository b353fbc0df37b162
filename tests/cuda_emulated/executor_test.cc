#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_memory.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/text_search.h"
#include "schedule.h"

// Compiled as kernels are, with emulated.h before everything.
namespace kusari::cuda::emulated {
namespace {

using testing::contains;

template <class... Parameters, class... Args>
void run(dim3 grid, dim3 block, size_t shared, void (*kernel)(Parameters...), Args... args) {
  run_grid({grid, block, shared, reinterpret_cast<const void*>(kernel)}, [&] { kernel(args...); });
}

/// The message of the DeviceError that a kernel ends with.
template <class... Parameters, class... Args>
std::string error_of(dim3 grid, dim3 block, void (*kernel)(Parameters...), Args... args) {
  try {
    run(grid, block, 0, kernel, args...);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

__global__ void write_indices(int* y) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  y[i] += static_cast<int>(i) + 1;
}

__global__ void reverse_blocks(const int* x, int* y) {
  __shared__ int tile[1024];
  KUSARI_DYNAMIC_SHARED(int, copy);
  tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  copy[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) __syncwarp();
  y[blockIdx.x * blockDim.x + threadIdx.x] = copy[threadIdx.x];
}

__global__ void read_uninitialised(unsigned* y) {
  KUSARI_DYNAMIC_SHARED(unsigned, words);
  y[blockIdx.x] = words[3];
  words[3] = 7;
}

__global__ void sum_by_shuffles(const double* x, double* y) {
  double sum = x[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

__global__ void collect(int* y) {
  const int lane = static_cast<int>(threadIdx.x);
  y[lane] = __shfl_sync(0xffffffffu, lane, 5);
  y[32 + lane] = __shfl_up_sync(0xffffffffu, lane, 3);
  y[64 + lane] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  y[96 + lane] = static_cast<int>(__ballot_sync(0xffffffffu, lane % 3 == 0));
  y[128 + lane] = __any_sync(0xffffffffu, lane == 40) + 2 * __all_sync(0xffffffffu, lane < 32);
  if (lane < 16) y[160 + lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
  y[192 + lane] = __syncthreads_count(lane < 7);
  y[224 + lane] = __syncthreads_or(lane == 3) + 2 * __syncthreads_and(lane == 3);
}

__global__ void count_with_atomics(int* counts, unsigned* bits, float* largest) {
  atomicAdd(&counts[threadIdx.x % 4], 1);
  atomicOr(bits, 1u << (threadIdx.x % 32));
  atomicMax(counts + 4, static_cast<int>(threadIdx.x));
  atomicAdd(largest, 0.5f);
}

__global__ void leave_before_barrier(int* y) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
__global__ void diverge(int* y) {
  if (threadIdx.x % 2 == 0) __syncthreads();
  if (threadIdx.x % 2 == 1) y[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void leave_before_collective(int* y) {
  if (threadIdx.x == 9) return;
  y[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void read_absent_lane(int* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);
}
__global__ void throw_error(int*) {
  __syncthreads();
  if (threadIdx.x == 5) throw std::runtime_error("from a kernel");
  __syncthreads();
}
__global__ void nothing(int*) {}

TEST_CASE("emulated grids visit each thread of each block once") {
  std::vector<int> y(3 * 2 * 2 * 4 * 3 * 2, 0);
  run(dim3(3, 2, 2), dim3(4, 3, 2), 0, write_indices, y.data());
  for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == static_cast<int>(i) + 1);
}

TEST_CASE("emulated barriers and shared memory") {
  for (const unsigned threads : {32u, 64u, 1024u}) {
    std::vector<int> x(threads * 5), y(threads * 5, -1);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i);
    run(dim3(5), dim3(threads), threads * sizeof(int), reverse_blocks, x.data(), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t block = i / threads;
      CHECK(y[i] == static_cast<int>(block * threads + threads - 1 - i % threads));
    }
  }
}

TEST_CASE("emulated dynamic shared memory begins as garbage in every block") {
  std::vector<unsigned> y(3, 0);
  run(dim3(3), dim3(1), 64, read_uninitialised, y.data());
  for (const unsigned word : y) CHECK(word == 0xffffffffu);
}

TEST_CASE("emulated warp collectives") {
  std::vector<double> x(256);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  double sum = 0;
  run(dim3(1), dim3(256), 0, sum_by_shuffles, x.data(), &sum);
  CHECK(sum == 255 * 128);

  std::vector<int> y(256, -1);
  run(dim3(1), dim3(32), 0, collect, y.data());
  for (int lane = 0; lane < 32; ++lane) {
    CAPTURE(lane);
    const auto at = [&](int row) { return y[static_cast<size_t>(row * 32 + lane)]; };
    CHECK(at(0) == 5);
    CHECK(at(1) == (lane < 3 ? lane : lane - 3));
    CHECK(at(2) == (lane % 8 < 5 ? lane + 3 : lane));
    CHECK(at(3) == 0x49249249);
    CHECK(at(4) == 2);
    CHECK(at(5) == (lane < 16 ? (lane ^ 1) : -1));
    CHECK(at(6) == 7);
    CHECK(at(7) == 1);
  }
}

TEST_CASE("emulated atomics") {
  std::vector<int> counts(5, 0);
  unsigned bits = 0;
  float sum = 0;
  run(dim3(10), dim3(96), 0, count_with_atomics, counts.data(), &bits, &sum);
  CHECK(counts == std::vector<int>{240, 240, 240, 240, 95});
  CHECK(bits == 0xffffffffu);
  CHECK(sum == 480);
}

TEST_CASE("schedules of the emulated device visit everything once") {
  for (const char* text : {"", "forward", "reverse", "random:1", "random:42"}) {
    CAPTURE(text);
    Schedule schedule(text);
    for (const uint64_t blocks : {1, 2, 12, 97}) {
      CAPTURE(blocks);
      schedule.begin_grid(blocks);
      std::vector<uint64_t> visited;
      for (uint64_t turn = 0; turn < blocks; ++turn) visited.push_back(schedule.block(turn));
      if (schedule.is_reverse()) CHECK(visited.front() == blocks - 1);
      const std::vector<uint64_t> order = visited;
      std::sort(visited.begin(), visited.end());
      for (uint64_t i = 0; i < blocks; ++i) CHECK(visited[i] == i);
      if (schedule.is_random() && blocks == 97) CHECK(order != visited);
      schedule.begin_grid(blocks);
      CHECK(schedule.block(0) == order[0]);
    }
    std::vector<int> threads;
    schedule.arrange(threads, 64);
    CHECK((threads.front() == 0) == (schedule.is_forward()));
    CHECK(schedule.pick(7) < 7);
    std::sort(threads.begin(), threads.end());
    for (int i = 0; i < 64; ++i) CHECK(threads[static_cast<size_t>(i)] == i);
  }
  for (const char* text : {"backward", "random", "random:", "random:1x"}) CHECK_THROWS_AS(Schedule{text}, ValueError);
}

TEST_CASE("emulated kernels that break the rules end with an error") {
  std::vector<int> y(64, 0);
  // Threads that have returned are not waited for.
  run(dim3(1), dim3(64), 0, leave_before_barrier, y.data());
  CHECK(y[39] == 1);
  CHECK(y[40] == 0);

  CHECK(contains(error_of(dim3(1), dim3(32), diverge, y.data()),
                 "deadlock: of 32 threads 16 wait at a barrier, 16 at a warp's collective, 0 have returned"));
  CHECK(contains(error_of(dim3(1), dim3(32), leave_before_collective, y.data()), "returns while its warp waits"));
  CHECK(contains(error_of(dim3(1), dim3(32), read_absent_lane, y.data()), "reads from lane 20"));
  CHECK(contains(error_of(dim3(1), dim3(1025), nothing, y.data()), "a block has 1 to 1024 threads"));
  CHECK(contains(error_of(dim3(1, 65536), dim3(32), nothing, y.data()), "a grid has 1 to"));
  CHECK(contains(error_of(dim3(0), dim3(32), nothing, y.data()), "a grid has 1 to"));
  CHECK_THROWS_WITH_AS(run(dim3(1), dim3(64), 0, throw_error, y.data()), "from a kernel", std::runtime_error);
  // And the next kernel runs.
  std::vector<int> z(24, 0);
  run(dim3(1), dim3(24), 0, write_indices, z.data());
  CHECK(z[23] == 24);
}

TEST_CASE("emulated device memory") {
  const size_t free_before = free_device_bytes(0);
  auto* const block = static_cast<unsigned char*>(allocate_device(0, 5000));
  REQUIRE(block != nullptr);
  CHECK(device_of(block) == 0);
  CHECK(device_of(block + 4999) == 0);
  CHECK(device_of(&free_before) == -1);
  CHECK(free_device_bytes(0) < free_before);
  {
    const DeviceAccess access;
    CHECK(block[0] == 0xff);
    CHECK(block[4999] == 0xff);
  }
  void* const second = allocate_device(0, 100);
  CHECK(free_device(block));
  CHECK_FALSE(free_device(block));
  CHECK(free_device(second));
  CHECK(free_device_bytes(0) == free_before);
  CHECK(allocate_device(0, free_before + 1) == nullptr);
}

}  // namespace
}  // namespace kusari::cuda::emulated
