#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

namespace kusari::cpu {

/// A line of the result of a depthwise convolution with one result for each channel. x and y have the channels
/// innermost, positions are `channels` elements apart. T: float, or the 16 bits of a bfloat16.
template <class T>
struct DepthwiseLine {
  km::i64 channels, width, out_width;   // of x, y
  km::i64 kernel, stride, pad, dilate;  // along the line
  km::i64 kernel_lines;                 // of the kernel,
  km::i64 first_line, lines;            // of which these lie on x
  const T* const* x;                    // each of these
  const float* w;                       // packed
  const float* bias;                    // or null: added to the sums
  const T* z;                           // or null: like y, added then
  T* y;
  ResultRange range;
};

template <class T>
struct DepthwiseLoops {
  km::i64 lanes;  // packed weights are those of so many channels rounded up
  /// w: (channels, taps).
  void (*pack)(const float* w, km::i64 channels, km::i64 taps, float* packed);
  /// Each sum in the order of the lines and the kernel along them, each product added with one rounding.
  void (*line)(const DepthwiseLine<T>& call);
};

KUSARI_DECLARE_LOOPS(DepthwiseLoops<float>, depthwise_loops)

namespace v4_bf16 {
/// Of bfloat16, which a source named bfloat16_* needs AVX512_BF16 for.
const DepthwiseLoops<unsigned short>* bfloat16_depthwise_loops();
}  // namespace v4_bf16

}  // namespace kusari::cpu
