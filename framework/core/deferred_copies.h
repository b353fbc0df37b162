#pragma once

#include <cstddef>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari {

/// What is sent to devices ahead of its turn. While the scope is open, from the constructor to close(),
/// Array::to_device_beside of this thread begins its copies (from plain memory too, by way of page-locked memory) and
/// no work of the device waits for them. Work given to the device after join() does; nothing may use the arrays before.
/// All calls come from one thread. On the CPU there is nothing to wait for.
///
///   auto copies = std::make_unique<DeferredCopies>();
///   Array next = batch.to_device_beside(device);  // copied beside the kernels of this step and the one after
///   copies->close();
///   ...                                           // kernels that are given to the device here do not wait
///   copies->join();
///   model(next);
class KUSARI_API DeferredCopies {
 public:
  /// Opens the scope. Scopes nest: copies belong to the innermost open one.
  DeferredCopies() noexcept;
  DeferredCopies(const DeferredCopies&) = delete;
  DeferredCopies& operator=(const DeferredCopies&) = delete;
  /// Closes the scope. Arrays of copies that were not joined may be given back, not used.
  ~DeferredCopies();

  void close();
  /// close(), and work given to the devices from now on waits for the copies. Further calls do nothing.
  void join();

  /// The innermost open scope of this thread, or null.
  static DeferredCopies* current() noexcept;
  /// Begins a copy from page-locked memory; for Array.
  void copy(const Device& device, void* data, const void* host, size_t bytes);

 private:
  struct Copies {
    Device device;
    void* mark;  // once closed
  };
  void leave() noexcept;

  DeferredCopies* outer_;
  bool is_open_ = true;
  SmallVector<Copies, 2> copies_;
};

}  // namespace kusari
