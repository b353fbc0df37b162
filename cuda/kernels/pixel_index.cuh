#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/cuda/kernels/strided_index.cuh"

// From the number of a thread to what it works on, for kernels over the pixels of images.
namespace kusari::cuda {

/// One axis of such numbers: quick below 2^31, right above.
class Extent {
 public:
  Extent() = default;
  explicit Extent(int64_t size) : size_{size}, narrow_{std::clamp<int64_t>(size, 1, kNarrow)} {}

  /// The place along this axis; `number` becomes that along the axes outside of it.
  KUSARI_HOST_DEVICE int take(int64_t& number) const {
    const int64_t outer =
        number < kNarrow ? static_cast<int64_t>(narrow_.quotient(static_cast<uint32_t>(number))) : number / size_;
    const int place = static_cast<int>(number - outer * size_);
    number = outer;
    return place;
  }
  KUSARI_HOST_DEVICE int64_t size() const { return size_; }

 private:
  int64_t size_ = 1;
  Divisor narrow_;
};

}  // namespace kusari::cuda
