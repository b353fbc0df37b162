#pragma once

#include <algorithm>
#include <type_traits>

#include "kusari/framework/cpu/convolution.h"

// What Winograd's convolutions of float32, of bfloat16 and of 8 bits share.
namespace kusari::cpu {

/// Images of one size: (batch, height, width, channels).
template <class T>
struct WinogradImages {
  T* data;
  int64_t height, width, channels;

  T* at(int64_t image, int64_t row, int64_t column) const {
    return data + ((image * height + row) * width + column) * channels;
  }
};

/// The square tiles, `size` x `size`, that cover all images of one size.
struct WinogradTiles {
  int64_t size, down, across, count;

  WinogradTiles(int64_t batch, int64_t height, int64_t width, int64_t tile = 4)
      : size{tile}, down{ceil_divide(height, tile)}, across{ceil_divide(width, tile)}, count{batch * down * across} {}

  /// Addresses of a size x size square around tile t, `before` positions up and left of its corner; `outside` where the
  /// image does not reach.
  template <int kSize, class T>
  void addresses(const WinogradImages<T>& images, int64_t t, int64_t before_row, int64_t before_column,
                 std::type_identity_t<T>* outside, T** addresses) const {
    const int64_t image = t / (down * across), place = t % (down * across);
    const int64_t top = place / across * size - before_row, left = place % across * size - before_column;
    for (int i = 0; i < kSize; ++i) {
      const bool in_rows = top + i >= 0 && top + i < images.height;
      T* const row = in_rows ? images.at(image, top + i, 0) : nullptr;
      for (int j = 0; j < kSize; ++j) {
        const bool inside = in_rows && left + j >= 0 && left + j < images.width;
        addresses[i * kSize + j] = inside ? row + (left + j) * images.channels : outside;
      }
    }
  }
};

/// Elements between the places of a tile: so that they do not compete for the same lines of a cache.
template <class T>
constexpr int64_t winograd_place_stride(int64_t elements) {
  return elements + 64 / static_cast<int64_t>(sizeof(T));
}

constexpr int64_t kWinogradTilesOfATask = 4;

/// Output channels, a multiple of 32, whose places of the weights' gradient a filter gradient sums at a time. Where one
/// block has all the tiles, each part is finished before the next and needs no more than some MiB; else sums of all
/// channels last from block to block.
constexpr int64_t winograd_summed_outs(int64_t ins, int64_t outs, bool in_one_block) {
  constexpr int64_t kSums = int64_t{5} << 19;  // of the 36 places, float32
  const int64_t part = kSums / (36 * ins) / 32 * 32;
  return in_one_block ? std::min(outs, std::max<int64_t>(part, 32)) : outs;
}

/// convolve_winograd and its workspace where x and y are bfloat16.
void convolve_winograd_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a);
size_t winograd_workspace_bfloat16(const ConvolutionProblem& p);

}  // namespace kusari::cpu
