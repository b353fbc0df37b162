#pragma once

#include <cstddef>
#include <cstdint>

#include "kusari/framework/core/memory.h"

namespace kusari::cpu {

/// Pooled memory for one call or task, uninitialised; null for no elements.
template <class T = char>
class Scratch {
 public:
  explicit Scratch(int64_t elements)
      : bytes_{static_cast<size_t>(elements) * sizeof(T)},
        data_{bytes_ > 0 ? static_cast<T*>(memory::allocate(bytes_)) : nullptr} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { memory::deallocate(data_, bytes_); }
  T* get() const noexcept { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace kusari::cpu
