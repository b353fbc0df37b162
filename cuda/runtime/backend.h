#pragma once

#include <string>

#include "kusari/cuda/runtime/pinned_pool.h"
#include "kusari/framework/core/backend.h"

namespace kusari::cuda {

/// What core asks of CUDA devices. Kernels go to Context::stream(), and so does everything here unless it says
/// otherwise.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device_count);

  const char* name() const override { return "cuda"; }
  int device_count() const override { return device_count_; }

  void* allocate(int index, size_t bytes) override;
  void deallocate(int index, void* data, size_t bytes) noexcept override;
  void copy_to_host(int index, void* host, const void* data, size_t bytes) override;
  void copy_from_host(int index, void* data, const void* host, size_t bytes) override;
  void copy_within(int index, void* to, const void* from, size_t bytes) override;
  void copy_from_peer(int index, void* to, int from_index, const void* from, size_t bytes) override;
  void synchronize(int index) override;

  void* allocate_pinned(size_t bytes) override;
  void deallocate_pinned(void* block, size_t bytes) noexcept override;
  bool pin(void* block, size_t bytes) override;
  void unpin(void* block) noexcept override;
  bool is_pinned(const void* inside, size_t bytes) override;
  bool is_copied_from(const void* inside) override;
  void copy_from_host_beside(int index, void* data, const void* host, size_t bytes) override;
  void* allocate_beside(int index, size_t bytes) override;
  void begin_copy_beside(int index, void* data, const void* host, size_t bytes) override;
  void* record_copies(int index) override;
  void wait_for_copies(int index, void* mark) override;
  void forget_copies(int index, void* mark) noexcept override;

  bool has_graphs() const noexcept override;
  void begin_graph(int index) override;
  void* end_graph(int index) override;
  void abandon_graph(int index) noexcept override;
  void run_graph(int index, void* graph) override;
  size_t graph_bytes(int index, void* graph) const override;
  void destroy_graph(int index, void* graph) noexcept override;

  memory::Statistics memory_statistics(int index) override;
  void reset_max_allocated(int index) override;
  void release_cached(int index) override;
  std::string memory_summary(int index) override;

  void* create_event(int index) override;
  void record_event(int index, void* event) override;
  void synchronize_event(int index, void* event) override;
  double seconds_between(int index, void* begin, void* end) override;
  void destroy_event(int index, void* event) noexcept override;

  void push_range(const char* text) noexcept override;
  void pop_range() noexcept override;

 private:
  const int device_count_;
};

/// Page-locked host memory for all devices.
PinnedPool& pinned_pool();

/// Enters every kernel of this backend; register.cc.
void register_kernels(Backend& backend);

}  // namespace kusari::cuda
