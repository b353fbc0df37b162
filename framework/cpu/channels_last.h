#pragma once

#include "kusari/framework/core/array.h"

// For kernels whose loops want images channels-last, without gaps and of float or double.
namespace kusari::cpu {

/// The array as the loops want it: a copy unless it is so already. Integers stay what they are.
inline Array channels_last_input(const Array& array) {
  const Array wide = is_half(array.dtype()) ? array.astype(Dtype::float32) : array;
  if (wide.is_channels_last()) return wide;
  const Array result = empty_strided(wide.shape(), channels_last_strides(wide.shape()), wide.dtype(), wide.device());
  result.copy_from(wide);
  return result;
}

/// Where loops write what belongs into an array, which must outlive this.
class ChannelsLastOutput {
 public:
  explicit ChannelsLastOutput(const Array& array) : array_{array} {
    const Dtype dtype = is_half(array.dtype()) ? Dtype::float32 : array.dtype();
    const bool is_ready = dtype == array.dtype() && array.is_channels_last();
    work_ =
        is_ready ? array : empty_strided(array.shape(), channels_last_strides(array.shape()), dtype, array.device());
  }
  const Array& array() const { return work_; }
  void* data() const { return work_.raw_data(); }
  /// To be called when everything is written.
  void finish() const {
    if (!work_.is_same(array_)) array_.copy_from(work_);
  }

 private:
  const Array& array_;
  Array work_;
};

}  // namespace kusari::cpu
