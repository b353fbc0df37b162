#pragma once

#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// Depthwise: for each position i and channel c, result[i, c] = bias[c] + sum over taps t of source[i, t, c] w[t, c],
/// added in the order of the taps. Distances are in elements; channels of w and bias are neighbours.
struct DepthwiseCall {
  i64 channels, positions, taps;
  const void* source;
  i64 source_step, source_spacing;  // to the next position, the next channel
  const i64* source_offset;         // of each tap
  const void* w;
  const i64* w_offset;  // of each tap
  const void* bias;     // or null
  void* result;
  i64 result_step, result_spacing;
};

/// acc[c] += sum over positions i of x[i, c] y[i, c], added in order. Channels of x and acc are neighbours.
struct DepthwiseFilterCall {
  i64 channels, positions;
  const void* x;
  i64 x_step;
  const void* y;
  i64 y_step, y_spacing;
  void* acc;
};

struct ConvolutionLoop {
  /// n elements of each of `rows` rows that begin `step` elements apart.
  void (*copy)(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n);
  void (*clear)(void* to, i64 to_step, i64 rows, i64 n);
  /// to += from, row by row; rows of `to` may overlap.
  void (*add)(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n);
  /// y += bias (numbers of the channels, or null), y += z (like y, or null), then y is cut at 0 if `relu`; NaN stays.
  /// y: n positions of `channels` neighbouring elements.
  void (*finish)(const void* bias, const void* z, bool relu, void* y, i64 n, i64 channels);
  void (*depthwise)(const DepthwiseCall& call);
  void (*depthwise_filter)(const DepthwiseFilterCall& call);
};

struct ConvolutionLoops {
  ConvolutionLoop f32;
  ConvolutionLoop f64;
  /// As those of ConvolutionLoop, for elements of two bytes.
  void (*copy16)(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n);
  void (*clear16)(void* to, i64 to_step, i64 rows, i64 n);
};

}  // namespace kusari::cpu

#define KUSARI_DECLARE_CONVOLUTION(isa)        \
  namespace kusari::cpu::isa {                 \
  const ConvolutionLoops* convolution_loops(); \
  }
KUSARI_DECLARE_CONVOLUTION(v1)
KUSARI_DECLARE_CONVOLUTION(v3)
KUSARI_DECLARE_CONVOLUTION(v4)
#undef KUSARI_DECLARE_CONVOLUTION
