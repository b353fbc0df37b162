#pragma once

#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"

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
  static const KernelId id = intern_kernel(K::kName, typeid(typename K::Signature));
  return id;
}

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
}  // namespace detail

}  // namespace kusari
