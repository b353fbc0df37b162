#include <cuda_runtime.h>

#include <algorithm>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "stream_queue.h"

// What is wrong while a card records a graph is wrong here too.
namespace kusari::cuda::emulated {
namespace {

struct Stream {
  cudaStream_t raw = nullptr;
  Stream() { cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(raw); }
};

/// What submit gives to a stream between begin and end; null if the capture was spoiled.
struct Captured {
  cudaGraphExec_t executable = nullptr;
  cudaError_t status = cudaSuccess;

  template <class Work>
  Captured(const Stream& stream, const Work& work, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    REQUIRE(cudaStreamBeginCapture(stream.raw, mode) == cudaSuccess);
    work();
    cudaGraph_t graph = nullptr;
    status = cudaStreamEndCapture(stream.raw, &graph);
    if (status == cudaSuccess) CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { cudaGraphExecDestroy(executable); }
};

TEST_CASE("deferred or not: a graph does at each launch what was captured, in order") {
  const Stream stream, other;
  std::vector<int> done;
  {
    const Captured graph(stream, [&] {
      for (int i = 0; i < 5; ++i) {
        submit(stream.raw, [&done, i] { done.push_back(i); });
        submit(other.raw, [] {});  // is not captured
      }
    });
    REQUIRE(graph.status == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream.raw) == cudaSuccess);
    CHECK(done.empty());
    submit(stream.raw, [&] { done.push_back(-1); });
    CHECK(cudaGraphLaunch(graph.executable, stream.raw) == cudaSuccess);
    CHECK(cudaGraphLaunch(graph.executable, other.raw) == cudaSuccess);  // after its first run, on whatever stream
    submit(other.raw, [&] { done.push_back(-2); });
  }
  CHECK(cudaDeviceSynchronize() == cudaSuccess);  // though the graph is gone
  CHECK(done == std::vector<int>{-1, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, -2});
}

TEST_CASE("deferred or not: a stream that waits for a captured one is captured with it") {
  const Stream stream, other;
  cudaEvent_t fork = nullptr, join = nullptr;
  REQUIRE(cudaEventCreate(&fork) == cudaSuccess);
  REQUIRE(cudaEventCreate(&join) == cudaSuccess);
  std::vector<int> done;
  const auto work = [&](const Stream& on, int number) { submit(on.raw, [&done, number] { done.push_back(number); }); };
  for (const bool joins : {true, false}) {
    const Captured graph(stream, [&] {
      work(stream, 0);
      CHECK(cudaEventRecord(fork, stream.raw) == cudaSuccess);
      CHECK(cudaStreamWaitEvent(other.raw, fork, 0) == cudaSuccess);
      work(stream, 1);
      work(other, 2);
      work(other, 3);
      CHECK(cudaEventRecord(join, other.raw) == cudaSuccess);
      if (joins) CHECK(cudaStreamWaitEvent(stream.raw, join, 0) == cudaSuccess);
      work(stream, 4);
    });
    CHECK(graph.status == (joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    CHECK(done.empty());
    if (!joins) continue;
    bool other_order = false;
    for (int run = 0; run < 30; ++run) {
      CHECK(cudaGraphLaunch(graph.executable, stream.raw) == cudaSuccess);
      CHECK(cudaStreamSynchronize(stream.raw) == cudaSuccess);
      REQUIRE(done.size() == 5);
      const auto place = [&](int number) { return std::find(done.begin(), done.end(), number) - done.begin(); };
      CHECK(place(0) == 0);
      CHECK(place(2) < place(3));
      CHECK(place(4) == 4);
      other_order |= place(1) > place(2);
      done.clear();
    }
    CHECK(other_order == defers_work());  // nothing orders 1 and 2
  }
  // Outside of the capture the other stream is free again.
  work(other, 5);
  CHECK(cudaStreamSynchronize(other.raw) == cudaSuccess);
  CHECK(done == std::vector<int>{5});
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
}

TEST_CASE("deferred or not: what a capture forbids fails and spoils it") {
  const Stream stream, other;
  void* device = nullptr;
  void* pinned = nullptr;
  REQUIRE(cudaMalloc(&device, 64) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 64) == cudaSuccess);
  char plain[64] = {};
  cudaEvent_t event = nullptr, outside = nullptr;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudaEventCreate(&outside) == cudaSuccess);
  REQUIRE(cudaEventRecord(outside, other.raw) == cudaSuccess);
  const auto spoils = [&](cudaError_t expected, const auto& call) {
    const Captured graph(stream, [&] {
      CHECK(call() == expected);
      CHECK(submit(stream.raw, [] {}) == cudaErrorStreamCaptureInvalidated);
    });
    CHECK(graph.status == cudaErrorStreamCaptureInvalidated);
  };
  constexpr cudaError_t kUnsupported = cudaErrorStreamCaptureUnsupported;
  void* more = nullptr;
  spoils(kUnsupported, [&] { return cudaMalloc(&more, 64); });
  spoils(kUnsupported, [&] { return cudaFree(device); });
  spoils(kUnsupported, [&] { return cudaMallocHost(&more, 64); });
  spoils(kUnsupported, [&] { return cudaStreamSynchronize(stream.raw); });
  spoils(kUnsupported, [&] { return cudaStreamSynchronize(other.raw); });
  spoils(kUnsupported, [&] { return cudaStreamQuery(stream.raw); });
  spoils(kUnsupported, [&] { return cudaEventQuery(outside); });
  spoils(kUnsupported, [&] { return cudaDeviceSynchronize(); });
  spoils(kUnsupported, [&] { return cudaMemcpyAsync(device, plain, 64, cudaMemcpyHostToDevice, stream.raw); });
  spoils(kUnsupported, [&] { return cudaMemcpyAsync(plain, device, 64, cudaMemcpyDeviceToHost, stream.raw); });
  spoils(kUnsupported, [&] { return cudaMemcpy(device, plain, 64, cudaMemcpyHostToDevice); });
  spoils(cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(stream.raw, outside, 0); });
  spoils(kUnsupported, [&] {  // and from any thread
    cudaError_t status = cudaSuccess;
    std::thread([&] { status = cudaDeviceSynchronize(); }).join();
    return status;
  });

  const Captured allowed(stream, [&] {
    CHECK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, stream.raw) == cudaSuccess);
    CHECK(cudaEventRecord(event, stream.raw) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(stream.raw, event, 0) == cudaSuccess);
    CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
    CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
    CHECK(mode == cudaStreamCaptureModeGlobal);
    void* own = nullptr;
    CHECK(cudaMalloc(&own, 64) == cudaSuccess);
    CHECK(cudaStreamSynchronize(other.raw) == cudaSuccess);
    CHECK(cudaFree(own) == cudaSuccess);
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
    cudaError_t elsewhere = cudaErrorUnknown;
    std::thread([&] {
      elsewhere = cudaMalloc(&own, 64);
      cudaFree(own);
    }).join();
    CHECK(elsewhere == cudaSuccess);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CHECK(cudaStreamIsCapturing(stream.raw, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    std::thread([&] { elsewhere = cudaStreamEndCapture(stream.raw, &graph); }).join();
    CHECK(elsewhere == cudaErrorStreamCaptureWrongThread);
  });
  CHECK(allowed.status == cudaSuccess);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  cudaEventDestroy(event);
  cudaEventDestroy(outside);
  cudaGetLastError();
}

}  // namespace
}  // namespace kusari::cuda::emulated
