#include "kusari/framework/cpu/isa/quantized_winograd.h"

#include "kusari/framework/cpu/isa/packed_block.h"

namespace kusari::cpu {
namespace {

using Shorts = Vector<short>;
using Sums = Vector<int>;
constexpr i64 kShorts = Simd<short>::kLanes;
constexpr i64 kTile = 2;

[[gnu::always_inline]] inline Shorts widened(const unsigned char* from, unsigned char flip) {
  typedef unsigned char HalfBytes __attribute__((vector_size(kVectorBytes / 2)));
  HalfBytes bytes;
  __builtin_memcpy(&bytes, from, sizeof(bytes));
  return __builtin_convertvector(bytes ^ (flip - HalfBytes{}), Shorts);
}

void input(const unsigned char* const* d, bool is_signed, int zero, i64 channels, short* v, i64 place_stride) {
  const auto flip = static_cast<unsigned char>(is_signed ? 128 : 0);
  const Shorts taken = static_cast<short>(zero + flip) - Shorts{};
  for (i64 c = 0; c < channels; c += kShorts) {
    Shorts between[16];
    KUSARI_UNROLL
    for (int j = 0; j < 4; ++j) {
      const Shorts d0 = widened(d[j] + c, flip), d1 = widened(d[4 + j] + c, flip);
      const Shorts d2 = widened(d[8 + j] + c, flip), d3 = widened(d[12 + j] + c, flip);
      between[j] = d0 - d2;
      between[4 + j] = d1 + d2 - (taken + taken);
      between[8 + j] = d2 - d1;
      between[12 + j] = d1 - d3;
    }
    KUSARI_UNROLL
    for (i64 i = 0; i < 4; ++i) {
      const Shorts* const row = between + 4 * i;
      short* const to = v + 4 * i * place_stride + c;
      store(to, row[0] - row[2]);
      store(to + place_stride, row[1] + row[2]);
      store(to + 2 * place_stride, row[2] - row[1]);
      store(to + 3 * place_stride, row[1] - row[3]);
    }
  }
}

/// The sums of a tile in two vectors of channels.
struct TileSums {
  Sums line[kTile][kTile][kTileVectors];  // of each line and column
};

[[gnu::always_inline]] inline TileSums transformed(const int* m, i64 place_stride) {
  TileSums sums;
  KUSARI_UNROLL
  for (int v = 0; v < kTileVectors; ++v, m += kLanes) {
    Sums upper[4], lower[4];
    for (int j = 0; j < 4; ++j) {
      const Sums m0 = load(m + j * place_stride), m1 = load(m + (4 + j) * place_stride);
      const Sums m2 = load(m + (8 + j) * place_stride), m3 = load(m + (12 + j) * place_stride);
      upper[j] = m0 + m1 + m2;
      lower[j] = m1 - m2 - m3;
    }
    sums.line[0][0][v] = (upper[0] + upper[1] + upper[2]) >> 2;
    sums.line[0][1][v] = (upper[1] - upper[2] - upper[3]) >> 2;
    sums.line[1][0][v] = (lower[0] + lower[1] + lower[2]) >> 2;
    sums.line[1][1][v] = (lower[1] - lower[2] - lower[3]) >> 2;
  }
  return sums;
}

/// Positions of y from this one on, in a line, get what becomes of their sums.
template <int kPositions>
[[gnu::always_inline]] inline void finish(const PackedConvolution& call, i64 position, i64 column, Strip<Pairs>& strip,
                                          const Sums (&sum)[kPositions][kTileVectors]) {
  const i64 place = position * call.y_step + column;
  if (call.rounding != nullptr) {
    strip.q = call.rounding->y + position * call.rounding->y_step + column;
  } else {
    strip.y = call.y + place;
  }
  strip.z = call.z != nullptr ? call.z + place : nullptr;
  end_tile<Pairs, kPositions, kTileVectors>(strip, 0, sum);
}

void output(const PackedConvolution& call, const int* m, i64 first, i64 last, i64 column, i64 columns) {
  const i64 down = (call.out_height + kTile - 1) / kTile, across = (call.out_width + kTile - 1) / kTile;
  Strip<Pairs> strip = {};
  strip.y_step = call.y_step;
  strip.is_last = true;
  strip.range = call.range;
  strip.rounding = call.rounding;
  strip.columns = kPanel;
  for (i64 tile = first; tile < last; ++tile) {
    const i64 top = tile / across % down * kTile, left = tile % across * kTile;
    const i64 corner = (tile / (down * across) * call.out_height + top) * call.out_width + left;
    for (i64 part = 0; part < columns; part += kPanel) {
      const i64 channel = column + part;
      strip.scale = call.scale + channel;
      strip.bias = call.bias != nullptr ? call.bias + channel : nullptr;
      const TileSums sums = transformed(m + (tile - first) * columns + part, (last - first) * columns);
      for (i64 line = 0; line < kTile && top + line < call.out_height; ++line) {
        const i64 position = corner + line * call.out_width;
        if (left + 1 < call.out_width) {
          finish<kTile>(call, position, channel, strip, sums.line[line]);
        } else {
          const Sums single[1][kTileVectors] = {{sums.line[line][0][0], sums.line[line][0][1]}};
          finish<1>(call, position, channel, strip, single);
        }
      }
    }
  }
}

constexpr QuantizedWinogradLoops kLoops = {input, output};

}  // namespace

namespace KUSARI_ISA {
const QuantizedWinogradLoops* quantized_winograd_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
