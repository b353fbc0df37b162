#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/memory.h"

namespace kusari {

/// A kernel's place in every backend's table.
struct KernelId {
  int index;
};

/// The id of the kernel of that name, the same in every library of the process. Throws Error when two declarations give
/// one name different signatures.
KUSARI_API KernelId intern_kernel(const char* name, const std::type_info& signature);

/// The id of kernel K (a struct with kName and Signature).
template <class K>
KernelId kernel_id() {
  // Not a static with a guard: a process forked while another thread is inside would wait for that thread for ever.
  static constinit std::atomic<int> known{-1};
  int index = known.load(std::memory_order_relaxed);
  if (index < 0) [[unlikely]] {
    index = intern_kernel(K::kName, typeid(typename K::Signature)).index;
    known.store(index, std::memory_order_relaxed);
  }
  return {index};
}

/// The version of what libraries of backends and core know of each other: changes whenever Backend, Array or the door
/// change their layout.
inline constexpr int kBackendInterface = 6;

/// What one kind of device can do: memory, copies and a table of kernels. One object per backend library.
class KUSARI_API Backend {
 public:
  using AnyKernel = void (*)();

  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  /// "cpu" or "cuda".
  virtual const char* name() const = 0;
  virtual int device_count() const = 0;

  /// Memory of device `index`, uninitialised, aligned for any kernel.
  virtual void* allocate(int index, size_t bytes) = 0;
  virtual void deallocate(int index, void* data, size_t bytes) noexcept = 0;

  /// Copies bytes between this backend's device and the host, or within the device; ordered after earlier work there.
  virtual void copy_to_host(int index, void* host, const void* data, size_t bytes) = 0;
  virtual void copy_from_host(int index, void* data, const void* host, size_t bytes) = 0;
  virtual void copy_within(int index, void* to, const void* from, size_t bytes) = 0;
  virtual void synchronize(int index) = 0;
  /// Copies to device `index` from device `from_index` of this backend; ordered after earlier work of both.
  virtual void copy_from_peer(int index, void* to, int from_index, const void* from, size_t bytes);

  /// Page-locked host memory, which a device reads and writes without the host's help. Plain memory by default.
  virtual void* allocate_pinned(size_t bytes);
  /// The block may be given back while copies from it are under way: it is used again after them.
  virtual void deallocate_pinned(void* block, size_t bytes) noexcept;
  /// Locks pages of host memory that came from elsewhere, such as a mapping shared between processes, so that they
  /// serve like allocate_pinned's; whether that worked. The block begins with a page and overlaps no other that is
  /// pinned. Plain memory stays plain by default.
  virtual bool pin(void* block, size_t bytes);
  /// Undoes pin(), after the copies from that memory.
  virtual void unpin(void* block) noexcept;
  /// Whether `bytes` bytes from `inside` on lie in one block of allocate_pinned or pin.
  virtual bool is_pinned(const void* inside, size_t bytes = 1);
  /// Whether copies from the block of allocate_pinned or pin around `inside` are under way.
  virtual bool is_copied_from(const void* inside);
  /// Begins a copy from page-locked memory beside the device's work; work given to the device later waits for it.
  virtual void copy_from_host_beside(int index, void* data, const void* host, size_t bytes);
  /// Memory for such a copy, which no earlier work of the device uses: the copy need not wait for it.
  virtual void* allocate_beside(int index, size_t bytes);
  /// The same copy, for which later work does not wait by itself.
  virtual void begin_copy_beside(int index, void* data, const void* host, size_t bytes);
  /// Marks the end of the copies of begin_copy_beside so far; null where there is nothing to wait for.
  virtual void* record_copies(int index);
  /// Work given to the device from now on waits for what record_copies marked.
  virtual void wait_for_copies(int index, void* mark);
  /// Gives a mark of record_copies back.
  virtual void forget_copies(int index, void* mark) noexcept;

  /// Whether work can be recorded once and then replayed by one call: begin_graph and its relatives.
  virtual bool has_graphs() const noexcept;
  /// What this thread gives to device `index` is recorded from now on, and not done. Memory that kernels use within
  /// themselves is the graph's own. Whatever cannot be recorded (copies from and to the host, first uses that load code
  /// or time algorithms) throws StateError naming itself; then, or after any other exception, abandon_graph must
  /// follow.
  virtual void begin_graph(int index);
  /// The recorded work, ready to run.
  virtual void* end_graph(int index);
  virtual void abandon_graph(int index) noexcept;
  virtual void run_graph(int index, void* graph);
  /// The device memory that the graph holds beside the arrays that it was recorded with.
  virtual size_t graph_bytes(int index, void* graph) const;
  /// After the runs that are under way.
  virtual void destroy_graph(int index, void* graph) noexcept;

  /// The device memory that arrays hold and that the pool keeps.
  virtual memory::Statistics memory_statistics(int index);
  virtual void reset_max_allocated(int index);
  virtual void release_cached(int index);
  virtual std::string memory_summary(int index);

  /// Marks a moment in the device's work; null where the host's clock serves.
  virtual void* create_event(int index);
  virtual void record_event(int index, void* event);
  virtual void synchronize_event(int index, void* event);
  /// Seconds from one recorded event to another; waits for both.
  virtual double seconds_between(int index, void* begin, void* end);
  virtual void destroy_event(int index, void* event) noexcept;

  /// Names what this thread does from push to pop in the profiler's timeline.
  virtual void push_range(const char* text) noexcept;
  virtual void pop_range() noexcept;

  /// Enters an implementation; its type must be exactly K::Signature.
  template <class K>
  void add(typename K::Signature* implementation) {
    set(kernel_id<K>(), reinterpret_cast<AnyKernel>(implementation));
  }
  /// The implementation, or null when this backend lacks the kernel.
  AnyKernel find(KernelId id) const noexcept {
    return static_cast<size_t>(id.index) < table_.size() ? table_[static_cast<size_t>(id.index)] : nullptr;
  }

 protected:
  Backend();

 private:
  void set(KernelId id, AnyKernel implementation);

  std::vector<AnyKernel> table_;
};

namespace detail {
/// The CPU's backend; defined in framework/cpu/register.cc, called by core.
Backend& cpu_backend();
/// The backend of libkusari_cuda.so, also when it finds no device; null when the library cannot be loaded.
Backend* cuda_backend();
}  // namespace detail

}  // namespace kusari
