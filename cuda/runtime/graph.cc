#include "kusari/cuda/runtime/graph.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "kusari/cuda/runtime/workspace.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"

namespace kusari::cuda {

/// The scratch memory of the graphs that run on one stream. No kernel leaves anything there, and their stream runs one
/// graph after another, so that they share it; other work of the stream could leave arrays there between two replays,
/// so that it does not. In the allocator the object's address stands for the stream.
struct GraphMemory {
  Context& context;
  const cudaStream_t stream;
  int uses = 0;
  std::vector<Stream> spare = {};  // for captures
};

namespace {

struct GraphMemories {
  std::mutex mutex;
  std::map<std::pair<const Context*, cudaStream_t>, GraphMemory> by_stream;
};
GraphMemories& graph_memories() {
  static GraphMemories* const object = new GraphMemories;  // graphs of static duration outlive everything
  return *object;
}

Stream take_stream(GraphMemory& memory) {
  const std::scoped_lock lock(graph_memories().mutex);
  if (memory.spare.empty()) return Stream();
  Stream stream = std::move(memory.spare.back());
  memory.spare.pop_back();
  return stream;
}

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

// For people: graph0.dot, graph1.dot, ... in the folder that KUSARI_CUDA_GRAPH_DOT names.
void print(cudaGraph_t graph) {
  static std::atomic<int> number{0};
  const char* const folder = environment::value("KUSARI_CUDA_GRAPH_DOT");
  if (folder == nullptr) return;
  const std::string path = std::string(folder) + "/graph" + std::to_string(number++) + ".dot";
  const cudaError_t status = cudaGraphDebugDotPrint(graph, path.c_str(), 0);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  log::warn("KUSARI_CUDA_GRAPH_DOT: " + path + " cannot be written: " + cudaGetErrorString(status));
}

}  // namespace

GraphMemoryUse::GraphMemoryUse(Context& context, cudaStream_t stream) {
  GraphMemories& memories = graph_memories();
  const std::scoped_lock lock(memories.mutex);
  memory_ = &memories.by_stream.try_emplace({&context, stream}, GraphMemory{context, stream}).first->second;
  if (memory_->uses++ == 0) context.allocator().hold(memory_);
}

GraphMemoryUse::~GraphMemoryUse() {
  if (memory_ == nullptr) return;
  const std::scoped_lock lock(graph_memories().mutex);
  if (--memory_->uses == 0) memory_->context.allocator().release_hold(memory_);
}

Graph::~Graph() {
  if (cudaGraphExecDestroy(raw_) != cudaSuccess) cudaGetLastError();
}

void Graph::run(Context& context) {
  StreamCapture::refuse("the run of another graph");
  const cudaStream_t stream = context.stream(), own = memory_->stream;
  // On other streams it must not meet the graphs that share its memory.
  if (stream != own) [[unlikely]]
    context.order(own, stream);
  KUSARI_CUDA_CHECK(cudaGraphLaunch(raw_, stream));
  if (stream != own) [[unlikely]]
    context.order(stream, own);
}

constinit thread_local StreamCapture* StreamCapture::t_current __attribute__((tls_model("initial-exec"))) = nullptr;

void StreamCapture::throw_refused(const std::string& what) {
  throw StateError("cuda:" + std::to_string(t_current->context_.index()) + ": " + what +
                   " cannot be recorded in a CUDA graph");
}

void StreamCapture::refuse_first_use(const std::string& what) {
  if (t_current == nullptr) return;
  throw StateError("cuda:" + std::to_string(t_current->context_.index()) + ": " + what +
                   ", at its first use, cannot be recorded in a CUDA graph: run the same kernels once before");
}

void StreamCapture::begin(Context& context) {
  if (t_current != nullptr) {
    throw StateError("begin_graph: this thread records a graph on cuda:" + std::to_string(t_current->context_.index()) +
                     " already");
  }
  t_current = new StreamCapture(context);
}

StreamCapture::StreamCapture(Context& context)
    : context_{context},
      memory_{context, context.stream()},
      stream_{take_stream(*memory_)},
      running_{context.captures()},
      allocated_before_{allocated()},
      most_allocated_{allocated_before_} {
  KUSARI_CUDA_CHECK(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
}

StreamCapture::~StreamCapture() {
  const std::scoped_lock lock(graph_memories().mutex);
  memory_->spare.push_back(std::move(stream_));
}

// The next capture of the stream may belong to another thread, or the memory to nobody.
cudaError_t StreamCapture::stop(cudaGraph_t* graph) noexcept {
  t_current = nullptr;
  release_workspace(context_, stream());
  const cudaError_t status = cudaStreamEndCapture(stream(), graph);
  running_.unlock();
  return status;
}

std::unique_ptr<Graph> StreamCapture::end(Context& context) {
  StreamCapture* const capture = t_current;
  if (capture == nullptr || &capture->context_ != &context) {
    throw StateError("end_graph: this thread records no graph on cuda:" + std::to_string(context.index()));
  }
  struct Delete {
    void operator()(StreamCapture* object) const noexcept { delete object; }
  };
  return std::unique_ptr<StreamCapture, Delete>(capture)->finish();
}

std::unique_ptr<Graph> StreamCapture::finish() {
  cudaGraph_t raw = nullptr;
  const cudaError_t status = stop(&raw);
  const OwnedGraph graph(raw);
  check(status, "cudaStreamEndCapture", __FILE__, __LINE__);
  print(raw);
  cudaGraphExec_t executable = nullptr;
  cudaError_t made = cudaGraphInstantiate(&executable, raw, 0);
  if (made == cudaErrorMemoryAllocation) {  // the pool may have some
    cudaGetLastError();
    context_.allocator().release_cached();
    made = cudaGraphInstantiate(&executable, raw, 0);
  }
  check(made, "cudaGraphInstantiate", __FILE__, __LINE__);
  const cudaStream_t home = memory_->stream;
  std::unique_ptr<Graph> result(
      new Graph(executable, GraphMemoryUse(context_, home), static_cast<size_t>(most_allocated_ - allocated_before_)));
  KUSARI_CUDA_CHECK(cudaGraphUpload(executable, home));
  return result;
}

void StreamCapture::abandon() noexcept {
  StreamCapture* const capture = t_current;
  if (capture == nullptr) return;
  cudaGraph_t raw = nullptr;
  if (capture->stop(&raw) != cudaSuccess) cudaGetLastError();
  if (raw != nullptr) cudaGraphDestroy(raw);
  delete capture;
}

int64_t StreamCapture::allocated() const { return context_.allocator().allocated_for(&*memory_); }

void* StreamCapture::allocate(size_t bytes) {
  void* const data = context_.allocator().allocate(bytes, &*memory_);
  most_allocated_ = std::max(most_allocated_, allocated());
  return data;
}

void load_for_capture(const void* kernel) {
  const RelaxedCapture relaxed;
  cudaFuncAttributes attributes;
  KUSARI_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  KUSARI_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace kusari::cuda
