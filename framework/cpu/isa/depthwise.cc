#include "kusari/framework/cpu/isa/depthwise.h"

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/result_cut.h"

namespace kusari::cpu {
namespace {

constexpr i64 kLanes = Simd<float>::kLanes;
// With two vectors of channels, enough sums at a time to hide how long one takes. Where multiply_add is many
// instructions, one position has enough of them.
constexpr int kPositions = kFusesBySteps ? 1 : 4;

/// Some channels of a line.
struct Strip {
  const DepthwiseLine* line;
  i64 channel;
  i64 left;  // channels until the last one; fewer than the vectors hold in the end
};

template <int kVectors>
[[gnu::always_inline]] inline Vector<float> load_channels(const float* from, i64 left) {
  return kVectors > 1 ? load(from) : load_first(from, left);
}

template <int kCount, int kVectors>
[[gnu::always_inline]] inline void finish(const Strip& strip, i64 position, Vector<float> (&sum)[kCount][kVectors]) {
  const DepthwiseLine& line = *strip.line;
  const i64 place = position * line.channels + strip.channel;
  if (line.bias != nullptr) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector<float> bias = load_channels<kVectors>(line.bias + strip.channel + v * kLanes, strip.left);
      for (int i = 0; i < kCount; ++i) sum[i][v] += bias;
    }
  }
  if (line.z != nullptr) {
    for (int i = 0; i < kCount; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        sum[i][v] += load_channels<kVectors>(line.z + place + i * line.channels + v * kLanes, strip.left);
      }
    }
  }
  cut_results<kCount, kVectors>(line.range, sum);
  for (int i = 0; i < kCount; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      float* const to = line.y + place + i * line.channels + v * kLanes;
      kVectors > 1 ? store(to, sum[i][v]) : store_first(to, sum[i][v], strip.left);
    }
  }
}

/// kCount positions of a kernel whose entries are neighbours. Each vector of x is read once for all positions that it
/// belongs to; with kChecked it is zeros where the line does not reach. `w`: of the channels, from the first line on.
template <int kKernel, int kStride, int kCount, int kVectors, bool kChecked>
[[gnu::always_inline]] inline void neighbours(const Strip& strip, i64 position, const float* w) {
  const DepthwiseLine& line = *strip.line;
  Vector<float> sum[kCount][kVectors];
  KUSARI_UNROLL
  for (int i = 0; i < kCount; ++i) {
    KUSARI_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = Vector<float>{};
  }
  const i64 left = position * kStride - line.pad;
  for (i64 n = 0; n < line.lines; ++n, w += kKernel * kVectors * kLanes) {
    const float* const x = line.x[n] + left * line.channels + strip.channel;
    KUSARI_UNROLL
    for (int j = 0; j < (kCount - 1) * kStride + kKernel; ++j) {
      const bool is_inside = !kChecked || (left + j >= 0 && left + j < line.width);
      KUSARI_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vector<float> value =
            is_inside ? load_channels<kVectors>(x + j * line.channels + v * kLanes, strip.left) : Vector<float>{};
        KUSARI_UNROLL
        for (int i = 0; i < kCount; ++i) {
          const int k = j - i * kStride;
          if (k < 0 || k >= kKernel) continue;
          sum[i][v] = multiply_add<float>(value, load(w + (k * kVectors + v) * kLanes), sum[i][v]);
        }
      }
    }
  }
  finish<kCount, kVectors>(strip, position, sum);
}

/// All channels of kCount positions: x and w are read in the order of memory.
template <int kKernel, int kStride, int kCount, bool kChecked>
void all_channels(const DepthwiseLine& line, i64 position) {
  const i64 step = line.kernel_lines * kKernel * kLanes;  // of the weights, for each vector of channels
  const float* w = line.w;
  i64 channel = 0;
  for (; channel + 2 * kLanes <= line.channels; channel += 2 * kLanes, w += 2 * step) {
    neighbours<kKernel, kStride, kCount, 2, kChecked>({&line, channel, 2 * kLanes}, position,
                                                      w + line.first_line * kKernel * 2 * kLanes);
  }
  for (; channel < line.channels; channel += kLanes, w += step) {
    neighbours<kKernel, kStride, kCount, 1, kChecked>({&line, channel, line.channels - channel}, position,
                                                      w + line.first_line * kKernel * kLanes);
  }
}

template <int kKernel, int kStride>
void line_of_neighbours(const DepthwiseLine& line) {
  i64 position = 0;
  for (; position + kPositions <= line.out_width; position += kPositions) {
    const i64 left = position * kStride - line.pad;
    if (left >= 0 && left + (kPositions - 1) * kStride + kKernel <= line.width) {
      all_channels<kKernel, kStride, kPositions, false>(line, position);
    } else {
      all_channels<kKernel, kStride, kPositions, true>(line, position);
    }
  }
  if constexpr (kPositions > 2) {
    if (line.out_width - position >= 2) {
      all_channels<kKernel, kStride, 2, true>(line, position);
      position += 2;
    }
  }
  if (position < line.out_width) all_channels<kKernel, kStride, 1, true>(line, position);
}

/// Any kernel, position by position.
template <int kVectors>
void line_of_any(const Strip& strip) {
  const DepthwiseLine& line = *strip.line;
  const float* const weights =
      line.w + (strip.channel * line.kernel_lines + line.first_line * kVectors * kLanes) * line.kernel;
  for (i64 position = 0; position < line.out_width; ++position) {
    Vector<float> sum[1][kVectors] = {};
    const i64 left = position * line.stride - line.pad;
    for (i64 n = 0; n < line.lines; ++n) {
      for (i64 k = 0; k < line.kernel; ++k) {
        const i64 at = left + k * line.dilate;
        if (at < 0 || at >= line.width) continue;
        const float* const x = line.x[n] + at * line.channels + strip.channel;
        const float* const w = weights + (n * line.kernel + k) * kVectors * kLanes;
        for (int v = 0; v < kVectors; ++v) {
          sum[0][v] =
              multiply_add<float>(load_channels<kVectors>(x + v * kLanes, strip.left), load(w + v * kLanes), sum[0][v]);
        }
      }
    }
    finish<1, kVectors>(strip, position, sum);
  }
}

void line(const DepthwiseLine& call) {
  if (call.dilate == 1 && call.stride <= 2 && call.kernel == 3) {
    return call.stride == 1 ? line_of_neighbours<3, 1>(call) : line_of_neighbours<3, 2>(call);
  }
  if (call.dilate == 1 && call.stride <= 2 && call.kernel == 5) {
    return call.stride == 1 ? line_of_neighbours<5, 1>(call) : line_of_neighbours<5, 2>(call);
  }
  i64 channel = 0;
  for (; channel + 2 * kLanes <= call.channels; channel += 2 * kLanes) line_of_any<2>({&call, channel, 2 * kLanes});
  for (; channel < call.channels; channel += kLanes) line_of_any<1>({&call, channel, call.channels - channel});
}

// For each two vectors of channels, and each one that is left: (taps, channels).
void pack(const float* w, i64 channels, i64 taps, float* packed) {
  for (i64 channel = 0; channel < channels;) {
    const i64 row = channel + 2 * kLanes <= channels ? 2 * kLanes : kLanes;
    for (i64 tap = 0; tap < taps; ++tap) {
      for (i64 c = 0; c < row; ++c) *packed++ = channel + c < channels ? w[(channel + c) * taps + tap] : 0.0f;
    }
    channel += row;
  }
}

constexpr DepthwiseLoops kLoops = {kLanes, pack, line};

}  // namespace

namespace KUSARI_ISA {
const DepthwiseLoops* depthwise_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
