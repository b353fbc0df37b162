#include "graphs.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "stream_queue.h"

namespace {
using Work = std::vector<std::function<void()>>;
}

struct CUgraph_st {
  std::shared_ptr<Work> work = std::make_shared<Work>();
};
struct CUgraphExec_st {
  std::shared_ptr<const Work> work;
  std::shared_ptr<kusari::cuda::emulated::Mark> last_run;  // where work is deferred
};

namespace kusari::cuda::emulated {
namespace {

struct Capture {
  unsigned long long id;
  int device;
  std::thread::id thread;
  cudaStreamCaptureMode mode;
  bool is_spoiled;
  std::unique_ptr<CUgraph_st> graph;
};

struct Captures {
  std::mutex mutex;
  std::map<cudaStream_t, Capture> by_stream;
  std::atomic<size_t> count = 0;
  unsigned long long last_id = 0;

  Capture* find(cudaStream_t stream) {
    const auto found = by_stream.find(stream);
    return found == by_stream.end() ? nullptr : &found->second;
  }
};
Captures& captures() {
  static Captures& object = *new Captures;  // outlives every static object
  return object;
}

thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;

/// Calls use(capture) if the stream has one; otherwise the result is none.
template <class T, class Use>
T with_capture(cudaStream_t stream, T none, const Use& use) {
  Captures& all = captures();
  if (all.count == 0) return none;
  const std::lock_guard lock(all.mutex);
  Capture* const found = all.find(stream);
  return found == nullptr ? none : use(*found);
}

}  // namespace

bool is_captured(cudaStream_t stream) { return capture_of(stream) != 0; }

unsigned long long capture_of(cudaStream_t stream) {
  return with_capture(stream, 0ull, [](const Capture& capture) { return capture.id; });
}

cudaError_t capture(cudaStream_t stream, std::function<void()> work) {
  return with_capture(stream, cudaErrorInvalidValue, [&](Capture& capture) {
    if (capture.is_spoiled) return cudaErrorStreamCaptureInvalidated;
    capture.graph->work->push_back(std::move(work));
    return cudaSuccess;
  });
}

cudaError_t break_capture(cudaStream_t stream, cudaError_t status) {
  return with_capture(stream, cudaSuccess, [&](Capture& capture) { return capture.is_spoiled = true, status; });
}

cudaError_t break_captures(int device, cudaError_t status) {
  Captures& all = captures();
  if (all.count == 0) return cudaSuccess;
  const std::lock_guard lock(all.mutex);
  cudaError_t result = cudaSuccess;
  for (auto& [stream, capture] : all.by_stream) {
    if (capture.device != device) continue;
    capture.is_spoiled = true;
    result = status;
  }
  return result;
}

cudaError_t unsafe_call() {
  Captures& all = captures();
  if (all.count == 0 || t_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const std::lock_guard lock(all.mutex);
  cudaError_t result = cudaSuccess;
  for (auto& [stream, capture] : all.by_stream) {
    const bool is_own = capture.thread == std::this_thread::get_id() && capture.mode != cudaStreamCaptureModeRelaxed;
    const bool is_global = capture.mode == cudaStreamCaptureModeGlobal && t_mode == cudaStreamCaptureModeGlobal;
    if (!is_own && !is_global) continue;
    capture.is_spoiled = true;
    result = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

}  // namespace kusari::cuda::emulated

using namespace kusari::cuda::emulated;

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return std::swap(*mode, t_mode), cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  int device = 0;
  cudaGetDevice(&device);
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (all.find(stream) != nullptr) return cudaErrorIllegalState;
  all.by_stream.emplace(
      stream, Capture{++all.last_id, device, std::this_thread::get_id(), mode, false, std::make_unique<CUgraph_st>()});
  all.count = all.by_stream.size();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  *graph = nullptr;
  Capture* const found = all.find(stream);
  if (found == nullptr) return cudaErrorIllegalState;
  if (found->mode != cudaStreamCaptureModeRelaxed && found->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool is_spoiled = found->is_spoiled;
  if (!is_spoiled) *graph = found->graph.release();
  all.by_stream.erase(stream);
  all.count = all.by_stream.size();
  return is_spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = with_capture(stream, cudaStreamCaptureStatusNone, [](const Capture& capture) {
    return capture.is_spoiled ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  });
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  return *executable = new CUgraphExec_st{graph->work, nullptr}, cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) { return delete executable, cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return nodes == nullptr ? (*count = graph->work->size(), cudaSuccess) : cudaErrorNotSupported;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (executable == nullptr) return cudaErrorInvalidValue;
  if (is_captured(stream)) return break_capture(stream, cudaErrorNotSupported);  // no graphs in graphs here
  cudaError_t status = submit_wait(stream, executable->last_run);
  const std::shared_ptr<const Work> work = executable->work;
  for (size_t i = 0; i < work->size() && status == cudaSuccess; ++i) {
    // The whole graph lives as long as its run.
    status = defers_work() ? submit(stream, [work, i] { (*work)[i](); }) : ((*work)[i](), cudaSuccess);
  }
  executable->last_run = submit_mark(stream);
  return status;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return cudaErrorOperatingSystem;
  std::fprintf(file, "digraph graph_of_%zu_nodes {\n", graph->work->size());
  for (size_t i = 1; i < graph->work->size(); ++i) std::fprintf(file, "  %zu -> %zu\n", i - 1, i);
  std::fprintf(file, "}\n");
  return std::fclose(file) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
}

}  // extern "C"
