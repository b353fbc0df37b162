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

template <int kCount>
[[gnu::always_inline]] inline void finish(const Channels& c, i64 position, const Vector<int> (&sum)[kCount]) {
  const QuantizedDepthwiseLine& line = *c.line;
  const bool is_whole = c.left >= kLanes;
  Vector<float> value[kCount][1];
  const Vector<float> scale = load_first(line.scale + c.first, c.left);
  for (int i = 0; i < kCount; ++i) value[i][0] = __builtin_convertvector(sum[i], Vector<float>) * scale;
  if (line.bias != nullptr) {
    const Vector<float> bias = load_first(line.bias + c.first, c.left);
    for (int i = 0; i < kCount; ++i) value[i][0] += bias;
  }
  if (line.z != nullptr) {
    const float* const z = line.z + position * line.channels + c.first;
    for (int i = 0; i < kCount; ++i) value[i][0] += load_first(z + i * line.channels, c.left);
  }
  cut_results<kCount, 1>(line.range, value);
  if (line.rounding == nullptr) {
    float* const y = line.y + position * line.channels + c.first;
    for (int i = 0; i < kCount; ++i) store_first(y + i * line.channels, value[i][0], c.left);
    return;
  }
  const Rounding rounding(*line.rounding);
  unsigned char* const y = line.rounding->y + position * line.channels + c.first;
  for (int i = 0; i < kCount; ++i) {
    if (is_whole) {
      rounding.store(value[i][0], y + i * line.channels);
    } else {
      unsigned char some[kLanes];
      rounding.store(value[i][0], some);
      for (i64 k = 0; k < c.left; ++k) y[i * line.channels + k] = some[k];
    }
  }
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

/// Some positions of all channels that fill vectors; returns the position that follows.
template <class Kind, int kKernel, int kStride, int kCount, bool kChecked>
i64 some_positions(const QuantizedDepthwiseLine& line, i64 position) {
  for (i64 channel = 0; channel + kLanes <= line.channels; channel += kLanes) {
    neighbours<Kind, kKernel, kStride, kCount, kChecked>({&line, channel, kLanes}, position,
                                                         weights_of<Kind>(line, channel));
  }
  return position + kCount;
}

template <class Kind, int kKernel, int kStride>
void line_of_neighbours(const QuantizedDepthwiseLine& line) {
  constexpr int kMany = kKernel == 3 ? 8 : 4;  // enough sums at a time to hide how long one takes
  constexpr int kFew = kKernel == 3 ? 4 : 2;
  for (i64 position = 0; position < line.out_width;) {
    const i64 left = position * kStride - line.pad, rest = line.out_width - position;
    if (rest >= kMany && left >= 0 && left + (kMany - 1) * kStride + kKernel <= line.width) {
      position = some_positions<Kind, kKernel, kStride, kMany, false>(line, position);
    } else if (rest >= kFew) {
      position = some_positions<Kind, kKernel, kStride, kFew, true>(line, position);
    } else {
      position = some_positions<Kind, kKernel, kStride, 1, true>(line, position);
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
