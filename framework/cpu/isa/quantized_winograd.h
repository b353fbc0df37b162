#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

// Winograd's minimal filtering F(2x2, 3x3) in integers: a tile of 2x2 results takes 16 multiplications for each pair of
// channels instead of 36. Nothing is rounded, so that sums are those of the plain convolution. Lavin and Gray 2016.
// Compiled once per instruction set like the loops beside it.
//
// Transformed arrays have the 16 places of a tile outermost. Channel counts are multiples of
// kQuantizedWinogradChannels.

namespace kusari::cpu {

constexpr km::i64 kQuantizedWinogradPlaces = 16;
constexpr km::i64 kQuantizedWinogradChannels = 32;

struct QuantizedWinogradLoops {
  /// v[place * place_stride + channel] = (B^T d B)[place], d[i] being the addresses of the 4x4 positions' channels,
  /// uint8 or int8, each less its zero point.
  void (*input)(const unsigned char* const* d, bool is_signed, int zero, km::i64 channels, short* v,
                km::i64 place_stride);
  /// Positions of y that the tiles [first, last) have, `columns` of their channels from `column` on: of the sums
  /// (A^T m A) / 4, m[(place * (last - first) + tile) * columns + channel], what the call makes of a sum.
  void (*output)(const PackedConvolution& call, const int* m, km::i64 first, km::i64 last, km::i64 column,
                 km::i64 columns);
};

KUSARI_DECLARE_LOOPS(QuantizedWinogradLoops, quantized_winograd_loops)

}  // namespace kusari::cpu
