#pragma once

#include <cstdint>

// A convolution of stride 2 on images of few channels, such as the first of most networks, as one of stride 1 on images
// whose pixels are four of the others, with the padding in them: tensor cores take packs of 8 channels, and of 8 that
// hold 3 most is wasted. Plain host code.
namespace kusari::cuda {

inline constexpr int64_t kMostFoldedChannels = 4;

/// Of one axis: pixel i of the folded image holds 2 i + first_pixel and the next, tap i of the folded weights
/// 2 i + first_tap and the next; zeros where there is none.
struct FoldedAxis {
  int64_t pixels = 0, taps = 0;
  int64_t first_pixel = 0, first_tap = 0;
};

/// kernel: taps; pad: pixels in front; out: pixels of the result.
inline FoldedAxis folded_axis(int64_t kernel, int64_t pad, int64_t out) {
  const auto half = [](int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); };  // rounded down
  const int64_t first = half(-pad);
  FoldedAxis axis;
  axis.taps = half(kernel - 1 - pad) - first + 1;
  axis.pixels = out - 1 + axis.taps;
  axis.first_pixel = 2 * first;
  axis.first_tap = 2 * first + pad;
  return axis;
}

/// Channels of the folded image: four times as many, in packs of 8.
inline int64_t folded_channels(int64_t channels) { return (4 * channels + 7) / 8 * 8; }

}  // namespace kusari::cuda
