#pragma once

#include "kusari/framework/cpu/isa/bfloat16_gemm.h"
#include "kusari/framework/cpu/isa/winograd.h"

// Winograd's F(4x4, 3x3) on bfloat16 images and weights: transformed in float32 and rounded to bfloat16 for the
// products, whose sums are float32 until the result is rounded. A bfloat16 is its 16 bits.
//
// Each product of two rounded numbers is off by 2^-9 or so, and the transformations let these errors grow: against a
// direct convolution of the same bfloat16 numbers, whose only error is the rounding of its result (0.17 % of the RMS),
// the RMS error is 1.2 % of the RMS where x is white noise (0.9 % behind a ReLU) and 0.43 % where neighbours are alike
// as in images; the same for the gradients of the weights. Alternatives, of which each has the best points of its
// kind: F(3x3) 0.65 % (noise) at 1.3 to 1.6 times the products on images of 8 to 32, F(2x2) 0.41 % at 1.8 times. The
// points of winograd_lines.h are within 3 % of the best for F(4x4), where all places contribute the same error; hence
// more digits for a few of them would not help.

namespace kusari::cpu {

struct Bfloat16WinogradLoops {
  /// As WinogradLoops::weights, with the places of a panel one after the other, place_stride apart, each packed for
  /// Bfloat16GemmLoops: u[column / 32][place][row / 2][column % 32][row % 2].
  void (*weights)(const unsigned short* w, km::i64 rows, km::i64 columns, bool from_rows, km::i64 first, km::i64 last,
                  unsigned short* u, km::i64 place_stride);
  void (*float32_weights)(const float* w, km::i64 rows, km::i64 columns, bool from_rows, km::i64 first, km::i64 last,
                          unsigned short* u, km::i64 place_stride);

  /// v[place * place_stride + channel] = (B^T d B)[place].
  void (*input)(const unsigned short* const* d, km::i64 channels, unsigned short* v, km::i64 place_stride);
  /// y[i][first + channel] = (A^T m A)[i] + bias[first + channel] + z[i][first + channel], cut at 0 if `relu`, for the
  /// 4x4 positions whose address in y is not null; bias and z may be.
  void (*output)(const float* m, km::i64 place_stride, km::i64 channels, const float* bias,
                 const unsigned short* const* z, bool relu, unsigned short* const* y, km::i64 first);
  /// As ConvolutionLoop::finish without a bias, for the other convolutions of bfloat16; n elements.
  void (*finish)(const void* z, bool relu, void* y, km::i64 n);

  /// For products that sum over tiles: two tiles side by side, panels of 32 channels panel_stride apart:
  /// v[place * place_stride + channel / 32 * panel_stride + 2 * (channel % 32) + tile]. d: the addresses of the first
  /// tile, then those of the second.
  void (*input_pair)(const unsigned short* const* d, km::i64 channels, unsigned short* v, km::i64 place_stride,
                     km::i64 panel_stride);
  /// The same for (A g A^T).
  void (*gradient_pair)(const unsigned short* const* g, km::i64 channels, unsigned short* n, km::i64 place_stride,
                        km::i64 panel_stride);
  /// w[tap * tap_stride + channel] = (G^T u G)[tap], u[place * place_stride + channel].
  void (*filter)(const float* u, km::i64 place_stride, km::i64 channels, unsigned short* w, km::i64 tap_stride);
};

}  // namespace kusari::cpu

namespace kusari::cpu::v4_bf16 {
const Bfloat16WinogradLoops* bfloat16_winograd_loops();
}
