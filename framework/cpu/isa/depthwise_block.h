#pragma once

#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/result_cut.h"

// The loops of depthwise convolutions. Included only by the sources beside it, each of which has its own copy. Their
// kinds say how the channels of x, z and y, or numbers like the bias, lie in one or two vectors of float32.
namespace kusari::cpu {
namespace {

inline constexpr i64 kLanes = Simd<float>::kLanes;
/// Some channels of a line.
template <class Kind>
struct Strip {
  const DepthwiseLine<typename Kind::Element>* line;
  i64 channel;
  i64 left;  // channels until the last one; fewer than the vectors hold in the end
};

/// Channels that make two vectors of them worth it, or possible.
template <class Kind>
constexpr i64 fewest_of_two() {
  return Kind::kIsMasked ? 1 : 2 * kLanes;
}

/// How many elements may be read from a channel of position `at` on. What belongs to the next positions is read into
/// lanes that nobody stores: a part of a vector takes many times as long to load.
template <class Kind>
[[gnu::always_inline]] inline i64 readable(const Strip<Kind>& strip, i64 at) {
  return Kind::kIsMasked || strip.left >= kLanes ? strip.left
                                                 : (strip.line->width - at) * strip.line->channels - strip.channel;
}

template <int kCount, int kVectors>
[[gnu::always_inline]] inline void clear(Vector<float> (&sum)[kCount][kVectors]) {
  KUSARI_UNROLL
  for (int i = 0; i < kCount; ++i) {
    KUSARI_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = Vector<float>{};
  }
}

template <class Kind, int kCount, int kVectors>
[[gnu::always_inline]] inline void finish(const Strip<Kind>& strip, i64 position,
                                          Vector<float> (&sum)[kCount][kVectors]) {
  const DepthwiseLine<typename Kind::Element>& line = *strip.line;
  const i64 place = position * line.channels + strip.channel;
  Vector<float> addend[kVectors];
  if (line.bias != nullptr) {
    Kind::load_bias(line.bias + strip.channel, strip.left, addend);
    for (int v = 0; v < kVectors; ++v) {
      for (int i = 0; i < kCount; ++i) sum[i][v] += addend[v];
    }
  }
  if (line.z != nullptr) {
    for (int i = 0; i < kCount; ++i) {
      Kind::load_channels(line.z + place + i * line.channels, strip.left, addend);
      for (int v = 0; v < kVectors; ++v) sum[i][v] += addend[v];
    }
  }
  cut_results<kCount, kVectors>(line.range, sum);
  for (int i = 0; i < kCount; ++i) Kind::store_channels(line.y + place + i * line.channels, strip.left, sum[i]);
}

/// kCount positions of a kernel whose entries are neighbours. Each vector of x is read once for all positions that it
/// belongs to; with kChecked it is zeros where the line does not reach. `w`: of the channels, from the first line on.
template <class Kind, int kKernel, int kStride, int kCount, int kVectors, bool kChecked>
[[gnu::always_inline]] inline void neighbours(const Strip<Kind>& strip, i64 position, const float* w) {
  const DepthwiseLine<typename Kind::Element>& line = *strip.line;
  Vector<float> sum[kCount][kVectors];
  clear(sum);
  const i64 left = position * kStride - line.pad;
  for (i64 n = 0; n < line.lines; ++n, w += i64{kKernel} * kVectors * kLanes) {
    const auto* const x = line.x[n] + left * line.channels + strip.channel;
    constexpr int kWidth = (kCount - 1) * kStride + kKernel;
    if constexpr (Kind::kFetchesAhead) {
      // What the next positions read of lines that no line of y has read before.
      if (n >= line.lines - kStride) {
        for (int j = 0; j < kCount * kStride; ++j) __builtin_prefetch(x + (kWidth + j) * line.channels);
      }
    }
    KUSARI_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      Vector<float> value[kVectors] = {};
      if (!kChecked || (left + j >= 0 && left + j < line.width)) {
        Kind::load_channels(x + j * line.channels, readable(strip, left + j), value);
      }
      KUSARI_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        KUSARI_UNROLL
        for (int i = 0; i < kCount; ++i) {
          const int k = j - i * kStride;
          if (k < 0 || k >= kKernel) continue;
          sum[i][v] = multiply_add<float>(value[v], load(w + (k * kVectors + v) * kLanes), sum[i][v]);
        }
      }
    }
  }
  finish(strip, position, sum);
}

/// All channels of kCount positions: x and w are read in the order of memory.
template <class Kind, int kKernel, int kStride, int kCount, bool kChecked>
void all_channels(const DepthwiseLine<typename Kind::Element>& line, i64 position) {
  const i64 step = line.kernel_lines * kKernel * kLanes;  // of the weights, for each vector of channels
  const float* w = line.w;
  i64 channel = 0;
  for (; channel + fewest_of_two<Kind>() <= line.channels; channel += 2 * kLanes, w += 2 * step) {
    neighbours<Kind, kKernel, kStride, kCount, 2, kChecked>({&line, channel, line.channels - channel}, position,
                                                            w + line.first_line * kKernel * 2 * kLanes);
  }
  if constexpr (!Kind::kIsMasked) {
    for (; channel < line.channels; channel += kLanes, w += step) {
      neighbours<Kind, kKernel, kStride, kCount, 1, kChecked>({&line, channel, line.channels - channel}, position,
                                                              w + line.first_line * kKernel * kLanes);
    }
  }
}

template <class Kind, int kKernel, int kStride>
void line_of_neighbours(const DepthwiseLine<typename Kind::Element>& line) {
  constexpr int kPositions = Kind::kPositions;
  i64 position = 0;
  for (; position + kPositions <= line.out_width; position += kPositions) {
    if constexpr (Kind::kLeavesMiddle) {
      const i64 left = position * kStride - line.pad;
      if (left >= 0 && left + i64{kPositions - 1} * kStride + kKernel <= line.width) {
        all_channels<Kind, kKernel, kStride, kPositions, false>(line, position);
        continue;
      }
    }
    all_channels<Kind, kKernel, kStride, kPositions, true>(line, position);
  }
  if constexpr (kPositions > 2) {
    for (; line.out_width - position >= 2; position += 2) all_channels<Kind, kKernel, kStride, 2, true>(line, position);
  }
  if constexpr (kPositions > 1) {
    if (position < line.out_width) all_channels<Kind, kKernel, kStride, 1, true>(line, position);
  }
}

/// kCount positions of any kernel. `w`: of the channels, from the first line on.
template <class Kind, int kCount, int kVectors, bool kChecked>
[[gnu::always_inline]] inline void positions_of_any(const Strip<Kind>& strip, i64 position, const float* w) {
  const DepthwiseLine<typename Kind::Element>& line = *strip.line;
  Vector<float> sum[kCount][kVectors];
  clear(sum);
  const i64 left = position * line.stride - line.pad;
  for (i64 n = 0; n < line.lines; ++n) {
    for (i64 k = 0; k < line.kernel; ++k, w += kVectors * kLanes) {
      const i64 first = left + k * line.dilate;
      KUSARI_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const i64 at = first + i * line.stride;
        if (kChecked && (at < 0 || at >= line.width)) continue;
        Vector<float> value[kVectors];
        Kind::load_channels(line.x[n] + at * line.channels + strip.channel, readable(strip, at), value);
        KUSARI_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          sum[i][v] = multiply_add<float>(value[v], load(w + v * kLanes), sum[i][v]);
        }
      }
    }
  }
  finish(strip, position, sum);
}

/// Any kernel, some positions at a time: one sum alone waits for each of its products.
template <class Kind, int kVectors>
void line_of_any(const Strip<Kind>& strip) {
  const DepthwiseLine<typename Kind::Element>& line = *strip.line;
  const float* const w =
      line.w + (strip.channel * line.kernel_lines + line.first_line * kVectors * kLanes) * line.kernel;
  constexpr int kPositions = Kind::kPositions < 4 ? Kind::kPositions : 4;
  [[maybe_unused]] const i64 reach = (kPositions - 1) * line.stride + (line.kernel - 1) * line.dilate;
  i64 position = 0;
  for (; position + kPositions <= line.out_width; position += kPositions) {
    if constexpr (kVectors > 1) {
      const i64 left = position * line.stride - line.pad;
      if (left >= 0 && left + reach < line.width) {
        positions_of_any<Kind, kPositions, kVectors, false>(strip, position, w);
        continue;
      }
    }
    positions_of_any<Kind, kPositions, kVectors, true>(strip, position, w);
  }
  for (; position < line.out_width; ++position) positions_of_any<Kind, 1, kVectors, true>(strip, position, w);
}

template <class Kind>
void depthwise_line(const DepthwiseLine<typename Kind::Element>& call) {
  if (call.dilate == 1 && call.stride <= 2 && call.kernel == 3) {
    return call.stride == 1 ? line_of_neighbours<Kind, 3, 1>(call) : line_of_neighbours<Kind, 3, 2>(call);
  }
  if (call.dilate == 1 && call.stride <= 2 && call.kernel == 5) {
    return call.stride == 1 ? line_of_neighbours<Kind, 5, 1>(call) : line_of_neighbours<Kind, 5, 2>(call);
  }
  i64 channel = 0;
  for (; channel + fewest_of_two<Kind>() <= call.channels; channel += 2 * kLanes)
    line_of_any<Kind, 2>({&call, channel, call.channels - channel});
  if constexpr (!Kind::kIsMasked) {
    for (; channel < call.channels; channel += kLanes) line_of_any<Kind, 1>({&call, channel, call.channels - channel});
  }
}

/// For each two vectors of channels, and each one that is left: (taps, channels), in the order that they are loaded in.
template <class Kind>
void pack_depthwise(const float* w, i64 channels, i64 taps, float* packed) {
  for (i64 channel = 0; channel < channels;) {
    const i64 row = channel + fewest_of_two<Kind>() <= channels ? 2 * kLanes : kLanes;
    for (i64 tap = 0; tap < taps; ++tap) {
      for (i64 lane = 0; lane < row; ++lane) {
        const i64 c = channel + Kind::channel_of(lane);
        *packed++ = c < channels ? w[c * taps + tap] : 0.0f;
      }
    }
    channel += row;
  }
}

}  // namespace
}  // namespace kusari::cpu
