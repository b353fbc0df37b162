#pragma once

#include "kusari/cuda/kernels/inner_function.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/quantized_numbers.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"

// What the kernels of convolutions of 8 bits have in common: the problem, and what follows the sums of integers.
namespace kusari::cuda {

/// Images are channels-last, weights (O, kernel..., channels of a group), without gaps. A convolution of one axis has
/// one line.
struct QuantizedProblem {
  const uint8_t *x, *w;
  uint32_t x_flip, w_flip;  ///< 0x80 in each byte for uint8, which becomes int8; 0 for int8
  int32_t in[2], out[2], stride[2], pad[2], dilate[2];
  Divisor kernel[2];
  Divisor channels;        ///< of a group of x
  uint32_t terms;          ///< of a sum
  int32_t outs;            ///< channels of y of a group
  int32_t x_step, y_step;  ///< all channels
  uint32_t positions;      ///< of all images of y
  QuantizedNumbers x_scale, x_zero, w_scale, w_zero;
  const float *bias, *z;  ///< or null; z like y
  InnerFunction function;
  bool is_rounded;  ///< y is of 8 bits
  QuantizedRounding rounding;
  void* y;
};

/// The zero point of numbers that `flip` has made int8.
__device__ __forceinline__ int32_t flipped_zero(float zero, uint32_t flip) {
  return static_cast<int32_t>(zero) - static_cast<int32_t>(flip & 0xff);
}
__device__ __forceinline__ int32_t flipped(uint8_t q, uint32_t flip) { return static_cast<int8_t>(q ^ (flip & 0xff)); }

/// N neighbouring channels of y from `first` on, of which `count` are there: sums become results.
template <int N>
class QuantizedChannels {
 public:
  __device__ __forceinline__ QuantizedChannels(const QuantizedProblem& p, int32_t first, int32_t count)
      : problem_{p}, first_{first}, count_{count} {
#pragma unroll
    for (int c = 0; c < N; ++c) {
      const bool is_there = c < count;
      scale_[c] = is_there ? p.w_scale[first + c] * p.x_scale[0] : 0.0f;
      bias_[c] = is_there && p.bias != nullptr ? p.bias[first + c] : 0.0f;
    }
  }
  /// Writes N at once where kPacked: count is N, and addresses are aligned for that.
  template <bool kPacked>
  __device__ __forceinline__ void store(uint32_t position, const int32_t (&sum)[N]) const {
    const QuantizedProblem& p = problem_;
    const int64_t at = static_cast<int64_t>(position) * p.y_step + first_;
    Pack<float, N> value;
    Pack<float, N> z = {};
    if (p.z != nullptr) {
      if constexpr (kPacked) {
        z = load_pack<N>(p.z + at, 0);
      } else {
#pragma unroll
        for (int c = 0; c < N; ++c) {
          if (c < count_) z.at[c] = p.z[at + c];
        }
      }
    }
#pragma unroll
    for (int c = 0; c < N; ++c) {
      float v = static_cast<float>(sum[c]) * scale_[c];
      if (p.bias != nullptr) v += bias_[c];
      if (p.z != nullptr) v += z.at[c];
      value.at[c] = p.function(v);
    }
    if (!p.is_rounded) return write<kPacked>(static_cast<float*>(p.y) + at, value);
    const QuantizedRounder round(p.rounding);
    Pack<uint8_t, N> q;
#pragma unroll
    for (int c = 0; c < N; ++c) q.at[c] = round(value.at[c]);
    write<kPacked>(static_cast<uint8_t*>(p.y) + at, q);
  }

 private:
  template <bool kPacked, class T>
  __device__ __forceinline__ void write(T* to, const Pack<T, N>& values) const {
    if constexpr (kPacked) {
      store_pack<N>(to, 0, values);
    } else {
#pragma unroll
      for (int c = 0; c < N; ++c) {
        if (c < count_) to[c] = values.at[c];
      }
    }
  }

  const QuantizedProblem& problem_;
  int32_t first_, count_;
  float scale_[N], bias_[N];
};

}  // namespace kusari::cuda
