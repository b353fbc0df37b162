#pragma once

#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

// Winograd's minimal filtering F(4x4, 3x3): a tile of 4x4 results of a 3x3 convolution takes 36 multiplications for
// each pair of channels instead of 144. Lavin and Gray 2016. Compiled once per instruction set like the loops beside
// it.
//
// Transformed arrays have the 36 places of a tile outermost: (36, tiles, channels). Channel counts and strides are
// multiples of kWinogradChannels.

namespace kusari::cpu {

constexpr km::i64 kWinogradPlaces = 36;
constexpr km::i64 kWinogradChannels = 32;  // a panel of transformed weights has so many columns

struct WinogradLoops {
  /// Weights for the products: panels of 32 columns, u[place][column / 32][row][column % 32] = (G w G^T)[place].
  /// `from_rows`: w[column][tap][row], as a forward pass reads the parameter (rows are C, columns O); otherwise
  /// w[row][tap][column] with the taps turned by half a turn, as the data gradient reads it. Panels [first, last).
  void (*weights)(const float* w, km::i64 rows, km::i64 columns, bool from_rows, km::i64 first, km::i64 last, float* u);

  /// v[place * place_stride + channel] = (B^T d B)[place], d[i] being the addresses of the 6x6 positions' channels.
  void (*input)(const float* const* d, km::i64 channels, float* v, km::i64 place_stride);
  /// y[i][channel] = (A^T m A)[i] + bias[channel] + z[i][channel], cut at 0 if `relu`, for the 4x4 positions whose
  /// address in y is not null; bias and z may be.
  void (*output)(const float* m, km::i64 place_stride, km::i64 channels, const float* bias, const float* const* z,
                 bool relu, float* const* y);

  /// n[place * place_stride + channel] = (A g A^T)[place] for the 4x4 gradients at the addresses g.
  void (*gradient)(const float* const* g, km::i64 channels, float* n, km::i64 place_stride);
  /// w[tap * tap_stride + channel] = (G^T u G)[tap], u[place * place_stride + channel].
  void (*filter)(const float* u, km::i64 place_stride, km::i64 channels, float* w, km::i64 tap_stride);

  /// m(tiles, 32) = v(tiles, rows) u(rows, 32) of one place and panel.
  void (*multiply)(const float* v, km::i64 v_stride, km::i64 tiles, km::i64 rows, const float* u, float* m,
                   km::i64 m_stride);
  /// sum(outs, ins) (+)= n(tiles, outs)^T v(tiles, ins) of one place.
  void (*accumulate)(const float* n, km::i64 n_stride, km::i64 outs, const float* v, km::i64 v_stride, km::i64 ins,
                     km::i64 tiles, float* sum, km::i64 sum_stride, bool add);
};

KUSARI_DECLARE_LOOPS(WinogradLoops, winograd_loops)

}  // namespace kusari::cpu
