#include "graphs.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "settings.h"
#include "stream_queue.h"

namespace {

/// A piece of work, and the pieces that come before it.
struct Piece {
  std::function<void()> work;
  std::vector<size_t> before;
};
using Work = std::vector<Piece>;

}  // namespace

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
  cudaStream_t origin;
  bool is_spoiled;
  std::unique_ptr<CUgraph_st> graph;
  std::map<cudaStream_t, std::vector<size_t>> last;  // pieces of each stream that takes part
};

/// Whether everything comes before one of `last`.
bool is_joined(const Work& work, std::vector<size_t> last) {
  std::vector<bool> seen(work.size(), false);
  while (!last.empty()) {
    const size_t piece = last.back();
    last.pop_back();
    if (seen[piece]) continue;
    seen[piece] = true;
    last.insert(last.end(), work[piece].before.begin(), work[piece].before.end());
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

/// Some order that a card may choose.
std::vector<size_t> order_of(const Work& work, std::mt19937_64& numbers) {
  std::vector<size_t> order;
  std::vector<bool> is_done(work.size(), false);
  while (order.size() < work.size()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < work.size() && ready.size() < 8; ++i) {
      const std::vector<size_t>& before = work[i].before;
      if (!is_done[i] && std::all_of(before.begin(), before.end(), [&](size_t b) { return is_done[b]; })) {
        ready.push_back(i);
      }
    }
    order.push_back(ready[numbers() % ready.size()]);
    is_done[order.back()] = true;
  }
  return order;
}

struct Captures {
  std::mutex mutex;
  std::vector<std::unique_ptr<Capture>> all;
  std::atomic<size_t> count = 0;
  unsigned long long last_id = 0;
  std::mt19937_64 numbers{settings().stream_seed};

  std::vector<size_t> order(const Work& work) {
    const std::lock_guard lock(mutex);
    return order_of(work, numbers);
  }
  Capture* find(cudaStream_t stream) {
    for (const auto& capture : all) {
      if (capture->last.contains(stream)) return capture.get();
    }
    return nullptr;
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
    Work& all = *capture.graph->work;
    std::vector<size_t>& last = capture.last.at(stream);
    all.push_back({std::move(work), last});
    last = {all.size() - 1};
    return cudaSuccess;
  });
}

std::vector<size_t> capture_place(cudaStream_t stream) {
  return with_capture(stream, std::vector<size_t>(), [&](Capture& capture) { return capture.last.at(stream); });
}

cudaError_t join_capture(cudaStream_t stream, unsigned long long id, const std::vector<size_t>& place) {
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  Capture* const own = all.find(stream);
  if (own != nullptr && own->id != id) return own->is_spoiled = true, cudaErrorStreamCaptureMerge;
  for (const auto& capture : all.all) {
    if (capture->id != id) continue;
    std::vector<size_t>& last = capture->last[stream];
    last.insert(last.end(), place.begin(), place.end());
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;  // of a capture that has ended
}

cudaError_t break_capture(cudaStream_t stream, cudaError_t status) {
  return with_capture(stream, cudaSuccess, [&](Capture& capture) { return capture.is_spoiled = true, status; });
}

cudaError_t break_captures(int device, cudaError_t status) {
  Captures& all = captures();
  if (all.count == 0) return cudaSuccess;
  const std::lock_guard lock(all.mutex);
  cudaError_t result = cudaSuccess;
  for (const auto& capture : all.all) {
    if (capture->device != device) continue;
    capture->is_spoiled = true;
    result = status;
  }
  return result;
}

cudaError_t unsafe_call() {
  Captures& all = captures();
  if (all.count == 0 || t_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const std::lock_guard lock(all.mutex);
  cudaError_t result = cudaSuccess;
  for (const auto& capture : all.all) {
    const bool is_own = capture->thread == std::this_thread::get_id() && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool is_global = capture->mode == cudaStreamCaptureModeGlobal && t_mode == cudaStreamCaptureModeGlobal;
    if (!is_own && !is_global) continue;
    capture->is_spoiled = true;
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
  const auto self = std::this_thread::get_id();
  all.all.push_back(std::make_unique<Capture>(
      Capture{++all.last_id, device, self, mode, stream, false, std::make_unique<CUgraph_st>(), {{stream, {}}}}));
  all.count = all.all.size();
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
  if (found->origin != stream) return found->is_spoiled = true, cudaErrorStreamCaptureUnmatched;
  cudaError_t status = found->is_spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  if (status == cudaSuccess && !is_joined(*found->graph->work, found->last.at(stream))) {
    status = cudaErrorStreamCaptureUnjoined;
  }
  if (status == cudaSuccess) *graph = found->graph.release();
  std::erase_if(all.all, [found](const auto& capture) { return capture.get() == found; });
  all.count = all.all.size();
  return status;
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
  // At once, work runs as it was captured, which is one of the orders.
  const std::vector<size_t> order = defers_work() ? captures().order(*work) : std::vector<size_t>();
  for (size_t turn = 0; turn < work->size() && status == cudaSuccess; ++turn) {
    const size_t i = defers_work() ? order[turn] : turn;
    // The whole graph lives as long as its run.
    status = defers_work() ? submit(stream, [work, i] { (*work)[i].work(); }) : ((*work)[i].work(), cudaSuccess);
  }
  executable->last_run = submit_mark(stream);
  return status;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return cudaErrorOperatingSystem;
  std::fprintf(file, "digraph graph_of_%zu_nodes {\n", graph->work->size());
  for (size_t i = 0; i < graph->work->size(); ++i) {
    for (const size_t before : (*graph->work)[i].before) std::fprintf(file, "  %zu -> %zu\n", before, i);
  }
  std::fprintf(file, "}\n");
  return std::fclose(file) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
}

}  // extern "C"
