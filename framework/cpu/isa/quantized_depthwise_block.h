#pragma once

#include "kusari/framework/cpu/isa/bytes.h"
#include "kusari/framework/cpu/isa/products.h"
#include "kusari/framework/cpu/isa/quantized_depthwise.h"
#include "kusari/framework/cpu/isa/result_cut.h"
#include "kusari/framework/cpu/isa/rounding.h"

// The loops of depthwise convolutions of 8 bits. Included only by the sources beside it, each of which has its own
// copy.
namespace kusari::cpu {
namespace {

/// Some channels of a line.
struct Channels {
  const QuantizedDepthwiseLine* line;
  i64 first;
  i64 left;  // until the last one
};

/// What `count` lines of x, Kind::kCount at most, have at a position: one number of each beside the other in 32 bits.
/// kChecked: the position may lie outside.
template <class Kind, bool kChecked>
[[gnu::always_inline]] inline Vector<int> column(const Channels& c, i64 first_line, i64 count, i64 position,
                                                 Vector<int> flip) {
  constexpr int kBits = 32 / Kind::kCount;
  const QuantizedDepthwiseLine& line = *c.line;
  Vector<int> result = {};
  const bool is_inside = !kChecked || (position >= 0 && position < line.width);
  for (i64 i = 0; i < count; ++i) {
    const Vector<int> some = is_inside ? load_bytes(line.x[first_line + i] + position * line.channels + c.first, c.left)
                                       : line.outside - Vector<int>{};
    result |= some << (static_cast<int>(i) * kBits);
  }
  return result ^ flip;
}
/// What turns int8 numbers of a column into uint8 numbers that are 128 more.
template <class Kind>
[[gnu::always_inline]] inline Vector<int> flip_of(const QuantizedDepthwiseLine& line) {
  int flip = 0;
  for (int i = 0; i < Kind::kCount; ++i)
    flip |= static_cast<int>(static_cast<unsigned>(line.flip) << (i * (32 / Kind::kCount)));
  return flip - Vector<int>{};
}

/// Whether sums are only scaled, moved and rounded.
[[gnu::always_inline]] inline bool is_only_rounded(const QuantizedDepthwiseLine& line) {
  return line.rounding != nullptr && line.z == nullptr && line.range.cut == ResultCut::none &&
         line.rounding->scale == 1;
}

template <int kCount>
[[gnu::always_inline]] inline void finish(const Channels& c, i64 position, const Vector<int> (&sum)[kCount]) {
  const QuantizedDepthwiseLine& line = *c.line;
  const Vector<float> scale = load_first(line.scale + c.first, c.left);
  const Vector<float> bias = line.bias != nullptr ? load_first(line.bias + c.first, c.left) : Vector<float>{};
  const i64 place = position * line.channels + c.first;
  const auto scaled = [&](int i) __attribute__((always_inline)) {
    return __builtin_convertvector(sum[i], Vector<float>) * scale + bias;
  };
  const PackedRounding* const rounding = line.rounding;
  if (is_only_rounded(line)) {
    return store_rounded<kCount, 1>(
        Rounding(*rounding), rounding->y + place, line.channels,
        c.left, [&](int i, int) __attribute__((always_inline)) { return scaled(i); });
  }
  Vector<float> value[kCount][1];
  for (int i = 0; i < kCount; ++i) value[i][0] = scaled(i);
  if (line.z != nullptr) {
    for (int i = 0; i < kCount; ++i) value[i][0] += load_first(line.z + place + i * line.channels, c.left);
  }
  cut_results<kCount, 1>(line.range, value);
  if (rounding == nullptr) {
    for (int i = 0; i < kCount; ++i) store_first(line.y + place + i * line.channels, value[i][0], c.left);
    return;
  }
  alignas(64) float values[kCount * kLanes];
  for (int i = 0; i < kCount; ++i) store(values + i * kLanes, value[i][0]);
  round_values<1>(*rounding, values, kCount, rounding->y + place, line.channels, c.left);
}

/// kCount positions of a square kernel: each column of x is put together once for all positions that it belongs to.
template <class Kind, int kKernel, int kStride, int kCount, bool kChecked>
[[gnu::always_inline]] inline void neighbours(const Channels& c, i64 position, const int* w) {
  const QuantizedDepthwiseLine& line = *c.line;
  const Vector<int> flip = flip_of<Kind>(line);
  Vector<int> sum[kCount];
  for (int i = 0; i < kCount; ++i) sum[i] = load_first(line.start + c.first, c.left);
  const i64 left = position * kStride - line.pad;
  KUSARI_UNROLL
  for (int first = 0; first < kKernel; first += Kind::kCount, w += kKernel * kLanes) {
    constexpr int kMost = Kind::kCount;
    const int count = kKernel - first < kMost ? kKernel - first : kMost;
    KUSARI_UNROLL
    for (int j = 0; j < (kCount - 1) * kStride + kKernel; ++j) {
      const Vector<int> x = column<Kind, kChecked>(c, first, count, left + j, flip);
      KUSARI_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const int k = j - i * kStride;
        if (k < 0 || k >= kKernel) continue;
        sum[i] = Kind::add(x, load(w + k * kLanes), sum[i]);
      }
    }
  }
  finish<kCount>(c, position, sum);
}

/// The weights of the channels that begin at `first`.
template <class Kind>
const int* weights_of(const QuantizedDepthwiseLine& line, i64 first) {
  return line.w + first * ((line.kernel_lines + Kind::kCount - 1) / Kind::kCount) * line.kernel;
}

/// Some channels of a line with any kernel, position by position.
template <class Kind>
void positions_of_any(const Channels& c) {
  const QuantizedDepthwiseLine& line = *c.line;
  const Vector<int> flip = flip_of<Kind>(line);
  for (i64 position = 0; position < line.out_width; ++position) {
    const int* w = weights_of<Kind>(line, c.first);
    Vector<int> sum[1] = {load_first(line.start + c.first, c.left)};
    for (i64 first = 0; first < line.kernel_lines; first += Kind::kCount) {
      const i64 rest = line.kernel_lines - first, count = rest < Kind::kCount ? rest : Kind::kCount;
      for (i64 k = 0; k < line.kernel; ++k, w += kLanes) {
        const i64 at = position * line.stride - line.pad + k * line.dilate;
        sum[0] = Kind::add(column<Kind, true>(c, first, count, at, flip), load(w), sum[0]);
      }
    }
    finish<1>(c, position, sum);
  }
}

/// Some positions of all channels from `first` on that fill vectors; returns the position that follows.
template <class Kind, int kKernel, int kStride, int kCount, bool kChecked>
i64 some_positions(const QuantizedDepthwiseLine& line, i64 first, i64 position) {
  for (i64 channel = first; channel + kLanes <= line.channels; channel += kLanes) {
    neighbours<Kind, kKernel, kStride, kCount, kChecked>({&line, channel, kLanes}, position,
                                                         weights_of<Kind>(line, channel));
  }
  return position + kCount;
}

#if defined(__AVX512VNNI__)
// Four vectors of channels at a time, whose bytes are put together by instructions for whole vectors. Of each quarter
// of x, 16 channels, these give four channels to each of the four vectors: here vector v has the quarters that the
// vectors of memory have at v. Packing puts them in order again.
constexpr i64 kWide = 4 * kLanes;

/// Two quarters of a, then two of b, by their numbers in two bits each.
template <int kNumbers, class V>
[[gnu::always_inline]] inline V two_quarters(V a, V b) {
  return reinterpret_cast<V>(
      _mm512_maskz_shuffle_i32x4(0xffff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b), kNumbers));
}
/// Vector v of the result: quarter v of each.
template <class T>
[[gnu::always_inline]] inline void turn_quarters(Vector<T> (&x)[4]) {
  const Vector<T> low[] = {two_quarters<0x44>(x[0], x[1]), two_quarters<0x44>(x[2], x[3])};
  const Vector<T> high[] = {two_quarters<0xee>(x[0], x[1]), two_quarters<0xee>(x[2], x[3])};
  x[0] = two_quarters<0x88>(low[0], low[1]);
  x[1] = two_quarters<0xdd>(low[0], low[1]);
  x[2] = two_quarters<0x88>(high[0], high[1]);
  x[3] = two_quarters<0xdd>(high[0], high[1]);
}

/// What kWide channels of a line are computed with.
struct WideChannels {
  Vector<int> w[3][4], start[4];
  Vector<float> scale[4], bias[4];

  [[gnu::always_inline]] WideChannels(const QuantizedDepthwiseLine& line, i64 first) {
    for (int v = 0; v < 4; ++v) {
      const i64 channel = first + v * kLanes;
      const int* const weights = weights_of<Quads>(line, channel);
      for (int k = 0; k < 3; ++k) w[k][v] = load(weights + k * kLanes);
      start[v] = load(line.start + channel);
      scale[v] = load(line.scale + channel);
      bias[v] = line.bias != nullptr ? load(line.bias + channel) : Vector<float>{};
    }
    for (int k = 0; k < 3; ++k) turn_quarters<int>(w[k]);
    turn_quarters<int>(start);
    turn_quarters<float>(scale);
    turn_quarters<float>(bias);
  }
};

/// Like column(), of kWide channels from `first` on.
template <bool kChecked>
[[gnu::always_inline]] inline void wide_column(const QuantizedDepthwiseLine& line, i64 first, i64 position, Bytes flip,
                                               Vector<int> (&x)[4]) {
  Bytes rows[3];
  for (int i = 0; i < 3; ++i) {
    if (!kChecked || (position >= 0 && position < line.width)) {
      __builtin_memcpy(&rows[i], line.x[i] + position * line.channels + first, sizeof(Bytes));
    } else {
      rows[i] = line.outside - Bytes{};
    }
    rows[i] ^= flip;
  }
  const auto row = [&](int i) { return reinterpret_cast<__m512i>(rows[i]); };
  // The fourth byte, whatever it is, meets no weight.
  const __m512i low[] = {_mm512_unpacklo_epi8(row(0), row(1)), _mm512_unpacklo_epi8(row(2), row(2))};
  const __m512i high[] = {_mm512_unpackhi_epi8(row(0), row(1)), _mm512_unpackhi_epi8(row(2), row(2))};
  x[0] = reinterpret_cast<Vector<int>>(_mm512_unpacklo_epi16(low[0], low[1]));
  x[1] = reinterpret_cast<Vector<int>>(_mm512_unpackhi_epi16(low[0], low[1]));
  x[2] = reinterpret_cast<Vector<int>>(_mm512_unpacklo_epi16(high[0], high[1]));
  x[3] = reinterpret_cast<Vector<int>>(_mm512_unpackhi_epi16(high[0], high[1]));
}

/// kCount positions of kWide channels.
template <int kStride, int kCount, bool kChecked>
[[gnu::always_inline]] inline void wide_positions(const QuantizedDepthwiseLine& line, const WideChannels& c, i64 first,
                                                  i64 position, const Rounding& rounding) {
  const Bytes flip = line.flip - Bytes{};
  Vector<int> sum[kCount][4];
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < 4; ++v) sum[i][v] = c.start[v];
  }
  const i64 left = position * kStride - line.pad;
  KUSARI_UNROLL
  for (int j = 0; j < (kCount - 1) * kStride + 3; ++j) {
    Vector<int> x[4];
    wide_column<kChecked>(line, first, left + j, flip, x);
    KUSARI_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const int k = j - i * kStride;
      if (k < 0 || k >= 3) continue;
      for (int v = 0; v < 4; ++v) sum[i][v] = Quads::add(x[v], c.w[k][v], sum[i][v]);
    }
  }
  unsigned char* const y = line.rounding->y + position * line.channels + first;
  KUSARI_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const auto value = [&](int v) __attribute__((always_inline)) {
      return __builtin_convertvector(sum[i][v], Vector<float>) * c.scale[v] + c.bias[v];
    };
    const Bytes bytes = rounding.pack_quarters(value(0), value(1), value(2), value(3));
    __builtin_memcpy(y + i * line.channels, &bytes, sizeof(bytes));
  }
}

template <int kStride>
void wide_line(const QuantizedDepthwiseLine& line, i64 first) {
  constexpr int kMany = 4;
  const WideChannels channels(line, first);
  const Rounding rounding(*line.rounding);
  for (i64 position = 0; position < line.out_width;) {
    const i64 left = position * kStride - line.pad, rest = line.out_width - position;
    if (rest >= kMany && left >= 0 && left + (kMany - 1) * kStride + 3 <= line.width) {
      wide_positions<kStride, kMany, false>(line, channels, first, position, rounding);
      position += kMany;
    } else {
      wide_positions<kStride, 1, true>(line, channels, first, position, rounding);
      ++position;
    }
  }
}
#endif

template <class Kind, int kKernel, int kStride>
void line_of_neighbours(const QuantizedDepthwiseLine& line) {
  constexpr int kMany = kKernel == 3 ? 8 : 4;  // enough sums at a time to hide how long one takes
  constexpr int kFew = kKernel == 3 ? 4 : 2;
  i64 first = 0;
#if defined(__AVX512VNNI__)
  if constexpr (Kind::kCount == 4 && kKernel == 3) {
    if (is_only_rounded(line)) {
      for (; first + kWide <= line.channels; first += kWide) wide_line<kStride>(line, first);
    }
  }
#endif
  for (i64 position = first + kLanes <= line.channels ? 0 : line.out_width; position < line.out_width;) {
    const i64 left = position * kStride - line.pad, rest = line.out_width - position;
    if (rest >= kMany && left >= 0 && left + (kMany - 1) * kStride + kKernel <= line.width) {
      position = some_positions<Kind, kKernel, kStride, kMany, false>(line, first, position);
    } else if (rest >= kFew) {
      position = some_positions<Kind, kKernel, kStride, kFew, true>(line, first, position);
    } else {
      position = some_positions<Kind, kKernel, kStride, 1, true>(line, first, position);
    }
  }
  const i64 left = line.channels % kLanes;
  if (left > 0) positions_of_any<Kind>({&line, line.channels - left, left});
}

template <class Kind>
void quantized_line(const QuantizedDepthwiseLine& line) {
  constexpr bool kIsFast = kVectorBytes > 16;  // what is worth code of its own
  if constexpr (kIsFast) {
    const bool is_square = line.dilate == 1 && line.stride <= 2 && line.kernel == line.kernel_lines;
    if (is_square && line.kernel == 3) {
      return line.stride == 1 ? line_of_neighbours<Kind, 3, 1>(line) : line_of_neighbours<Kind, 3, 2>(line);
    }
    if (is_square && line.kernel == 5) {
      return line.stride == 1 ? line_of_neighbours<Kind, 5, 1>(line) : line_of_neighbours<Kind, 5, 2>(line);
    }
  }
  for (i64 channel = 0; channel < line.channels; channel += kLanes) {
    positions_of_any<Kind>({&line, channel, line.channels - channel});
  }
}

}  // namespace
}  // namespace kusari::cpu
