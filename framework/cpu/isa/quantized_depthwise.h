#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

// Lines of y of depthwise convolutions of 8-bit numbers, one result for each channel. Compiled once per instruction set
// like the loops beside it.
namespace kusari::cpu {

/// A line of y. Its sums begin with `start` and have products of uint8 and int8 or int16 numbers; `lines` neighbouring
/// lines of the kernel at a time are summed by one instruction: QuantizedDepthwiseLoops::lines.
struct QuantizedDepthwiseLine {
  km::i64 channels, width, out_width;
  km::i64 kernel_lines, kernel, stride, pad, dilate;  // all but the first along the line
  const unsigned char* const* x;                      // a line of x for each of the kernel's
  unsigned char outside;                              // what x has beyond its line
  unsigned char flip;                                 // by which bits of x and `outside` differ from uint8 numbers
  const int* w;                                       // packed
  const int* start;
  const float* scale;  // by which sums are multiplied
  const float* bias;   // or null: added to the sums
  const float* z;      // or null: like y, added then
  ResultRange range;
  float* y;  // or null where there is a rounding
  const PackedRounding* rounding;
};

struct QuantizedDepthwiseLoops {
  km::i64 lanes, lines;
  /// w: for each `lanes` channels, the last ones filled up, (lines of the kernel / `lines`, kernel, lanes, lines).
  void (*line)(const QuantizedDepthwiseLine& line);
};

KUSARI_DECLARE_LOOPS(QuantizedDepthwiseLoops, quantized_depthwise_loops)
namespace v4_vnni {
const QuantizedDepthwiseLoops* quantized_depthwise_of_bytes();
}

}  // namespace kusari::cpu
