#pragma once

#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

// Forward convolutions as products with packed weights: a row for each position of y, whose factors are read where they
// lie in x. Compiled once per instruction set like the loops beside it.
namespace kusari::cpu {

/// What a loop does to a result in registers: nothing, or the bits of kernels::Relu, ClippedRelu or Clip.
enum class ResultCut : km::i64 { none, below_zero, clipped_relu, clip };
struct ResultRange {
  ResultCut cut;
  float low, high;  // of ResultCut::clipped_relu (low is 0) and clip
};

/// Results as integers of 8 bits: rint(y / scale) + zero between low and high.
struct PackedRounding {
  unsigned char* y;  // uint8 or int8, of the group's first channel
  km::i64 y_step;
  float scale, inverse;           // and its reciprocal, NaN where that is not a normal number
  short zero;                     // of uint8 numbers,
  unsigned char low, high, flip;  // from which y's differ by these bits
};

/// Results of bfloat16 numbers, and what is added to them.
struct PackedBfloat16 {
  const unsigned short* z;  // or null: like y, added to the sums after the bias
  unsigned short* y;        // of the group's first channel; or null: the results stay float32
};

/// One group of a convolution over two axes. Elements of x and w are float32 numbers, pairs of int16 or bfloat16
/// numbers or four uint8 and int8 numbers; distances are in elements.
struct PackedConvolution {
  km::i64 height, width, out_height, out_width;  // of x, y
  km::i64 kernel[2], stride[2], pad[2], dilate[2];
  km::i64 depth;                    // neighbouring elements of x that a position of the kernel meets
  km::i64 x_image, x_line, x_step;  // from one image, line, position of x to the next
  km::i64 outs, y_step;             // channels of the group; from one position of y to the next
  const void* x;
  const void* zeros;   // `depth` of them: what lies outside of x
  const void* w;       // packed
  const int* start;    // of integers: what sums begin with, or null
  const float* scale;  // of integers: by which sums are multiplied, or null: y gets the sums as they are
  const float* bias;   // or null: added to the sums
  const float* z;      // or null: like y, added then
  float* y;
  km::i64 y_first;  // the position that y begins with
  ResultRange range;
  /// Of integers: where the results go, rounded, while y has room for sums that are not complete; or null.
  const PackedRounding* rounding;
  const PackedBfloat16* bfloat16;  // of pairs of bfloat16: the same, never null; z is not used
};

/// Positions [begin, end) of all images, columns of the panels [first, last). `addresses`: room for the kernel's
/// positions times (end - begin) rounded up to whole tiles, and for one tile more.
using PackedConvolutionRun = void (*)(const PackedConvolution& call, km::i64 begin, km::i64 end, km::i64 first,
                                      km::i64 last, const void** addresses);

struct PackedConvolutionLoops {
  km::i64 rows, columns;   // of a tile of y that is computed at a time; a panel of weights has so many columns
  km::i64 narrow_columns;  // of the last panel where no more are left

  /// Panels [first, last) of w: (outs, depth) in order, both of them any number. A panel is (depth, columns).
  void (*pack)(const float* w, km::i64 depth, km::i64 outs, km::i64 first, km::i64 last, float* packed);
  /// Of numbers: each sum is over the positions of the kernel and the channels in order, each product added with one
  /// rounding.
  PackedConvolutionRun run;
  /// Of pairs, both of whose products are added to sums of 32 bits: exact where these suffice.
  PackedConvolutionRun run_pairs;
};

KUSARI_DECLARE_LOOPS(PackedConvolutionLoops, packed_convolution_loops)

}  // namespace kusari::cpu
