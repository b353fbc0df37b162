#pragma once

#include <cstdint>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/philox_numbers.h"

namespace kusari::cuda {

/// Dropout of attention's weights.
struct AttentionDropout {
  double ratio;
  const int64_t* stream;  ///< as RandomPlace tells it

  /// What the weight at a place in C order is multiplied by.
  template <class C>
  __device__ __forceinline__ C kept(uint64_t place) const {
    const auto seed = static_cast<uint64_t>(stream[0]);
    const uint64_t at = static_cast<uint64_t>(stream[1]) + place;
    const PhiloxBlock words = philox_block(seed, at / 4, km::kUniformPlane);
    C uniform;
    if constexpr (sizeof(C) == sizeof(double)) {
      uniform = km::uniform_from(words.word[at % 4], philox_block(seed, at / 4, km::kUniformPlane + 1).word[at % 4]);
    } else {
      uniform = km::uniform_from(words.word[at % 4]);
    }
    return uniform < static_cast<C>(ratio) ? C(0) : factor<C>();
  }
  template <class C>
  __device__ __forceinline__ C factor() const {
    return C(1) / (C(1) - static_cast<C>(ratio));
  }
};

}  // namespace kusari::cuda
