#pragma once

#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// The elements of an array, null for one that is undefined.
template <class T>
T* data_of(const Array& array) {
  return array.is_defined() ? array.data<T>() : nullptr;
}

/// Where a kernel writes a result as `dtype`: the array itself, or a temporary one that finish() converts.
class TypedResult {
 public:
  TypedResult(const Array& array, Dtype dtype) : work_{array} {
    if (!array.is_defined() || array.dtype() == dtype) return;
    final_ = array;
    work_ = empty(array.shape(), dtype, array.device());
  }
  const Array& array() const { return work_; }
  template <class T>
  T* data() const {
    return data_of<T>(work_);
  }
  void finish() const {
    if (final_.is_defined()) final_.copy_from(work_);
  }

 private:
  Array work_, final_;
};

}  // namespace kusari::cuda
