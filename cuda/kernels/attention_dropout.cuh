#pragma once

#include <cmath>
#include <cstdint>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/philox_numbers.h"

namespace kusari::cuda {

/// Dropout of attention's weights.
struct AttentionDropout {
  double ratio = 0;
  const int64_t* stream = nullptr;  ///< as RandomPlace tells it
  uint32_t least_kept = 0;          ///< of a word's upper 24 bits, which are the uniform number

  AttentionDropout() = default;
  AttentionDropout(double probability, const int64_t* place)
      : ratio{probability},
        stream{place},
        least_kept{static_cast<uint32_t>(std::ceil(static_cast<float>(probability) * 0x1p24f))} {}

  /// What the weight at a place in C order is multiplied by.
  template <class C>
  __device__ __forceinline__ C kept(uint64_t place) const {
    const uint64_t at = first() + place;
    const PhiloxBlock words = block(at / 4);
    if constexpr (sizeof(C) == sizeof(double)) {
      const uint32_t more = philox_block(seed(), at / 4, km::kUniformPlane + 1).word[at % 4];
      return km::uniform_from(words.word[at % 4], more) < ratio ? 0.0 : factor<double>();
    } else {
      return keeps(words.word[at % 4]) ? factor<float>() : 0.0f;
    }
  }
  /// The same of kept weights.
  template <class C>
  __device__ __forceinline__ C factor() const {
    return C(1) / (C(1) - static_cast<C>(ratio));
  }

  // For those who look several places up at once: place p has word (first() + p) % 4 of block (first() + p) / 4.
  __device__ __forceinline__ uint64_t seed() const { return static_cast<uint64_t>(stream[0]); }
  __device__ __forceinline__ uint64_t first() const { return static_cast<uint64_t>(stream[1]); }
  __device__ __forceinline__ PhiloxBlock block(uint64_t number) const {
    return philox_block(seed(), number, km::kUniformPlane);
  }
  /// !(km::uniform_from(word) < ratio)
  __device__ __forceinline__ bool keeps(uint32_t word) const { return word >> 8 >= least_kept; }
};

}  // namespace kusari::cuda
