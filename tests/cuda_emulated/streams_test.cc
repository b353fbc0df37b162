#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "stream_queue.h"

// KUSARI_EMULATED_STREAMS=deferred: what is wrong on a card gives wrong results here too.
namespace kusari::cuda::emulated {
namespace {

struct Stream {
  cudaStream_t raw = nullptr;
  Stream() { cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(raw); }
};

constexpr int kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(int);

int* device_ints() {
  void* data = nullptr;
  REQUIRE(cudaMalloc(&data, kBytes) == cudaSuccess);
  return static_cast<int*>(data);
}
int* pinned_ints(int value) {
  void* data = nullptr;
  REQUIRE(cudaMallocHost(&data, kBytes) == cudaSuccess);
  std::fill_n(static_cast<int*>(data), kCount, value);
  return static_cast<int*>(data);
}

TEST_CASE("deferred streams: page-locked memory is read late, other memory at the call") {
  if (!defers_work()) return;
  const Stream stream;
  int *const a = device_ints(), *const b = device_ints();
  int *const pinned = pinned_ints(1), *const back = pinned_ints(0);
  std::vector<int> plain(kCount, 1), result(kCount, 0);
  CHECK(cudaMemcpyAsync(a, pinned, kBytes, cudaMemcpyHostToDevice, stream.raw) == cudaSuccess);
  CHECK(cudaMemcpyAsync(b, plain.data(), kBytes, cudaMemcpyHostToDevice, stream.raw) == cudaSuccess);
  std::fill_n(pinned, kCount, 2);
  plain.assign(kCount, 2);
  CHECK(cudaMemcpyAsync(back, a, kBytes, cudaMemcpyDeviceToHost, stream.raw) == cudaSuccess);
  CHECK(back[0] == 0);  // nobody has waited
  CHECK(cudaMemcpyAsync(result.data(), b, kBytes, cudaMemcpyDeviceToHost, stream.raw) == cudaSuccess);
  CHECK(back[0] == 2);
  CHECK(result == std::vector<int>(kCount, 1));
  for (int* data : {a, b}) cudaFree(data);
  for (int* data : {pinned, back}) cudaFreeHost(data);
}

TEST_CASE("deferred streams: events order streams, and nothing else does") {
  if (!defers_work()) return;
  const Stream first, second;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  int early = 0;  // how often the second was before the first
  for (const bool ordered : {true, false}) {
    early = 0;
    for (int round = 0; round < 100; ++round) {
      int clock = 0, first_at = 0, second_at = 0;
      submit(first.raw, [&] { first_at = ++clock; });
      CHECK(cudaEventRecord(event, first.raw) == cudaSuccess);
      if (ordered) CHECK(cudaStreamWaitEvent(second.raw, event, 0) == cudaSuccess);
      submit(second.raw, [&] { second_at = ++clock; });
      CHECK(clock == 0);
      CHECK(cudaEventRecord(event, second.raw) == cudaSuccess);  // what was waited for stays
      CHECK(cudaDeviceSynchronize() == cudaSuccess);
      CHECK(clock == 2);
      early += second_at < first_at ? 1 : 0;
    }
    if (ordered) CHECK(early == 0);
  }
  CHECK(early > 0);
  CHECK(early < 100);
  cudaEventDestroy(event);
}

TEST_CASE("deferred streams: a wait runs its own stream, and asking brings the end nearer") {
  if (!defers_work()) return;
  const Stream first, second;
  cudaEvent_t begin = nullptr, end = nullptr;
  REQUIRE(cudaEventCreate(&begin) == cudaSuccess);
  REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  int in_first = 0, in_second = 0, left = 0;
  for (int round = 0; round < 50; ++round) {
    in_first = in_second = 0;
    CHECK(cudaEventRecord(begin, first.raw) == cudaSuccess);
    for (int i = 0; i < 5; ++i) submit(first.raw, [&] { ++in_first; });
    CHECK(cudaEventRecord(end, first.raw) == cudaSuccess);
    for (int i = 0; i < 5; ++i) submit(second.raw, [&] { ++in_second; });
    float time = -1;
    CHECK(cudaEventElapsedTime(&time, begin, end) == cudaErrorNotReady);
    CHECK(cudaEventSynchronize(end) == cudaSuccess);
    CHECK(in_first == 5);
    left += 5 - in_second;
    CHECK(cudaEventElapsedTime(&time, begin, end) == cudaSuccess);
    CHECK(time >= 0);
    cudaError_t status = cudaErrorNotReady;
    for (int i = 0; i < 1000 && status != cudaSuccess; ++i) status = cudaStreamQuery(second.raw);
    CHECK(status == cudaSuccess);
    CHECK(in_second == 5);
  }
  CHECK(left > 0);
  int done = 0;
  for (int i = 0; i < 2000; ++i) submit(first.raw, [&] { ++done; });
  CHECK(done > 1000);  // a queue has an end
  CHECK(cudaStreamSynchronize(first.raw) == cudaSuccess);
  CHECK(done == 2000);
  cudaGetLastError();
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

}  // namespace
}  // namespace kusari::cuda::emulated
