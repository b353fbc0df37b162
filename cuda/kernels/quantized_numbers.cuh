#pragma once

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/quantized_convolution.h"

// What kernels of 8 bits read of scales and zero points, and how they round.
namespace kusari::cuda {

/// One number for all, or one for each channel, in the device's memory; as float32.
class QuantizedNumbers {
 public:
  QuantizedNumbers() = default;
  /// x: as readable() gives it.
  explicit QuantizedNumbers(const Array& x)
      : data_{x.raw_data()}, dtype_{x.dtype()}, step_{x.size() == 1 ? 0 : x.strides()[0]} {}
  /// The same numbers in a dtype that kernels read.
  static Array readable(const Array& x) {
    const bool is_read = kernels::has_8_bits(x) || x.dtype() == Dtype::int32 || x.dtype() == Dtype::float32;
    return is_read ? x : x.astype(Dtype::float32);
  }

  __device__ __forceinline__ float operator[](int64_t channel) const {
    const int64_t at = channel * step_;
    switch (dtype_) {
      case Dtype::uint8:
        return static_cast<float>(static_cast<const uint8_t*>(data_)[at]);
      case Dtype::int8:
        return static_cast<float>(static_cast<const int8_t*>(data_)[at]);
      case Dtype::int32:
        return static_cast<float>(static_cast<const int32_t*>(data_)[at]);
      default:
        return static_cast<const float*>(data_)[at];
    }
  }

 private:
  const void* data_ = nullptr;
  Dtype dtype_ = Dtype::float32;
  int64_t step_ = 0;
};

/// How results become integers of 8 bits: the bits of kernels::Quantize.
struct QuantizedRounding {
  QuantizedNumbers scale, zero;
  double low = 0, high = 0;
};
class QuantizedRounder {
 public:
  __device__ __forceinline__ explicit QuantizedRounder(const QuantizedRounding& r)
      : op_{r.low, r.high}, scale_{r.scale[0]}, zero_{r.zero[0]} {}
  /// The integer's eight bits, of uint8 or int8.
  __device__ __forceinline__ uint8_t operator()(float x) const {
    return static_cast<uint8_t>(integer_from<int>(op_(x, scale_, zero_)));
  }

 private:
  kernels::Quantize op_;
  float scale_, zero_;
};

}  // namespace kusari::cuda
