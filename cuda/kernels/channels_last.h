#pragma once

#include <initializer_list>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/framework/core/array.h"

// For kernels that want images channels-last without gaps.
namespace kusari::cuda {

/// The array in that order: itself or a copy.
inline Array channels_last_input(const Array& array) {
  if (array.is_channels_last()) return array;
  const Array result =
      empty_strided(array.shape(), channels_last_strides(array.shape()), array.dtype(), array.device());
  result.copy_from(array);
  return result;
}

/// Where a kernel writes what belongs into an array, which must outlive this.
class ChannelsLastOutput {
 public:
  explicit ChannelsLastOutput(const Array& array) : array_{array}, work_{array} {
    if (array.is_defined() && !array.is_channels_last()) {
      work_ = empty_strided(array.shape(), channels_last_strides(array.shape()), array.dtype(), array.device());
    }
  }
  const Array& array() const { return work_; }
  template <class T>
  T* data() const {
    return work_.is_defined() ? work_.data<T>() : nullptr;
  }
  /// To be called when everything is written.
  void finish() const {
    if (!work_.is_same(array_)) array_.copy_from(work_);
  }

 private:
  const Array& array_;
  Array work_;
};

/// Calls f<S, V>() for arrays of the first one's dtype: V channels are a pack if sizes and addresses allow it, else 1.
template <class F>
void visit_channel_packs(std::initializer_list<const Array*> arrays, F&& f) {
  const Array& first = **arrays.begin();
  visit_floating(first.dtype(), [&]<class S>() {
    bool whole = first.shape()[1] % kPackSize<S> == 0;
    for (const Array* array : arrays) whole = whole && is_pack_aligned(array->raw_data());
    if (whole) {
      f.template operator()<S, kPackSize<S>>();
    } else {
      f.template operator()<S, 1>();
    }
  });
}

}  // namespace kusari::cuda
