#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/convolution.h"

namespace kusari::kernels {

struct QuantizedConvolution {
  Convolution geometry;
  UnaryFunctor function = {};  ///< of the sum; kernel.index < 0: none
  double low = 0, high = 0;    ///< of y, if it is of 8 bits
};

/// y = function(x_scale W_scale[o] sum of (x - x_zero)(W - W_zero[o]) + z + bias[o]), the sum exact in 32 bits whatever
/// the processor, the rest in float32; for inference. x: (N, C, in...) uint8 or int8, its scale and zero point,
/// which its dtype holds, one number each; W: (O, C / groups, kernel...) int8 or uint8, W_scale and W_zero (O) or one
/// number; z: like y in float32, or undefined; bias: (O) or undefined. y: (N, O, out...) float32, or uint8 or int8:
/// then rint(y / y_scale) + y_zero between low and high (y_scale, y_zero: one number each, undefined for float32).
/// Terms of a sum: at most kMostQuantizedTerms, and ndim at most 2; on the CPU groups have an even number of channels,
/// or one of x and of y.
struct QuantizedConvolutionForward {
  static constexpr const char* kName = "quantized_convolution_forward";
  using Signature = void(Params<QuantizedConvolution> options, In x, In x_scale, In x_zero, In W, In W_scale, In W_zero,
                         In z, In bias, In y_scale, In y_zero, Out y);
};
struct QuantizedAdd {
  double low = 0, high = 0;  ///< of y
  bool relu = false;         ///< the sum is cut at 0
};
/// y = rint(s / y_scale) + y_zero between low and high, s = (a - a_zero) a_scale + (b - b_zero) b_scale: the bits of
/// the separate kernels in float32. a, b, y: uint8 or int8 of one shape and one dense order in memory; scales and zero
/// points: one number each.
struct QuantizedAddForward {
  static constexpr const char* kName = "quantized_add_forward";
  using Signature = void(Params<QuantizedAdd> options, In a, In a_scale, In a_zero, In b, In b_scale, In b_zero,
                         In y_scale, In y_zero, Out y);
};

/// 255 times 255 as often does not exceed 31 bits.
inline constexpr int64_t kMostQuantizedTerms = 33025;

inline bool has_8_bits(const Array& x) { return x.dtype() == Dtype::uint8 || x.dtype() == Dtype::int8; }
/// For backends: throw TypeError or ValueError for what the kernels above do not take. y is not empty.
KUSARI_API void check_quantized_convolution(const QuantizedConvolution& options, const Array& x, const Array& W,
                                            const Array& y);
KUSARI_API void check_quantized_add(const Array& a, const Array& b, const Array& y);

}  // namespace kusari::kernels
