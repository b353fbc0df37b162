#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

// The work of streams. With KUSARI_EMULATED_STREAMS=deferred it waits in queues until something demands it, and then
// runs in a random order that streams and events allow.
namespace kusari::cuda::emulated {

#define KUSARI_EMULATED_API __attribute__((visibility("default")))

/// Whether work waits. Otherwise streams are always empty, and callers do their work themselves.
KUSARI_EMULATED_API bool defers_work();
/// Whether this stream's does, because all does or because the stream is captured (graphs.h).
KUSARI_EMULATED_API bool keeps_work(cudaStream_t stream);

/// A moment in the work of a stream.
struct Mark {
  std::atomic<bool> is_done = false;
  std::chrono::steady_clock::time_point time;
  struct StreamQueue* queue = nullptr;
};

/// Adds to the stream's work, and so does everything here that takes a stream: null is the current device's own. The
/// status is the failure of earlier work, from then on for good. What a captured stream is given becomes part of its
/// graph instead; marks are not.
KUSARI_EMULATED_API cudaError_t submit(cudaStream_t stream, std::function<void()> work);
std::shared_ptr<Mark> submit_mark(cudaStream_t stream);
cudaError_t submit_wait(cudaStream_t stream, std::shared_ptr<Mark> mark);

void open_stream(cudaStream_t stream, int device);
/// What is left of its work is still done.
void close_stream(cudaStream_t stream);

/// These run what they wait for, and perhaps more.
cudaError_t finish(const std::shared_ptr<Mark>& mark);
cudaError_t finish_stream(cudaStream_t stream);
cudaError_t finish_device(int device);
/// May run something; cudaErrorNotReady while work is left.
cudaError_t query(const std::shared_ptr<Mark>& mark);
cudaError_t query_stream(cudaStream_t stream);

}  // namespace kusari::cuda::emulated
