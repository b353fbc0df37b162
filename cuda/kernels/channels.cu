#include "kusari/cuda/kernels/channels.h"

#include <algorithm>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"

namespace kusari::cuda {
namespace {

constexpr int kPack = 8;
constexpr int kThreads = 256;

// A thread writes one pack at a time; packs of a row are neighbours.
__global__ void __launch_bounds__(kThreads) widen_channels_kernel(const uint16_t* from, int64_t packs, int channels,
                                                                  int packs_of_row, Pack<uint16_t, kPack>* to) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += step) {
    const int64_t row = packs_of_row == 1 ? i : i / packs_of_row;
    const int first = static_cast<int>(i - row * packs_of_row) * kPack;
    Pack<uint16_t, kPack> pack;
#pragma unroll
    for (int c = 0; c < kPack; ++c) {
      pack.at[c] = first + c < channels ? from[row * channels + first + c] : static_cast<uint16_t>(0);
    }
    to[i] = pack;
  }
}

/// Images, of which one holds four pixels of the other in each.
struct FoldedImages {
  int64_t height, width;                ///< of the images
  int64_t folded_height, folded_width;  ///< of the folded ones
  int folded_channels;
  int first_row, first_column;  ///< of the four pixels in folded pixel (0, 0)
};

// A thread writes one pack at a time.
template <int kChannels>
__global__ void __launch_bounds__(kThreads)
    fold_pixels_kernel(FoldedImages s, const uint16_t* from, int64_t packs, Pack<uint16_t, kPack>* to) {
  const int packs_of_pixel = s.folded_channels / kPack;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += step) {
    const int64_t pixel = i / packs_of_pixel, line = pixel / s.folded_width, image = line / s.folded_height;
    const int first = static_cast<int>(i - pixel * packs_of_pixel) * kPack;
    const int64_t row = 2 * (line - image * s.folded_height) + s.first_row;
    const int64_t column = 2 * (pixel - line * s.folded_width) + s.first_column;
    Pack<uint16_t, kPack> pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const int part = (first + k) / kChannels, channel = first + k - part * kChannels;
      const int64_t y = row + part / 2, x = column + part % 2;
      const bool is_there = part < 4 && y >= 0 && y < s.height && x >= 0 && x < s.width;
      pack.at[k] = is_there ? from[((image * s.height + y) * s.width + x) * kChannels + channel] : uint16_t{0};
    }
    to[i] = pack;
  }
}

__global__ void __launch_bounds__(kThreads)
    unfold_pixels_kernel(FoldedImages s, int channels, const uint16_t* from, int64_t count, uint16_t* to) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const int64_t pixel = i / channels, line = pixel / s.width, image = line / s.height;
    const int64_t row = line - image * s.height - s.first_row, column = pixel - line * s.width - s.first_column;
    const int64_t folded = (image * s.folded_height + row / 2) * s.folded_width + column / 2;
    const int64_t part = row % 2 * 2 + column % 2;
    to[i] = from[folded * s.folded_channels + part * channels + (i - pixel * channels)];
  }
}

FoldedImages folded_images(const Array& x, int64_t first_row, int64_t first_column, const Array& y) {
  return {x.shape()[2],
          x.shape()[3],
          y.shape()[2],
          y.shape()[3],
          static_cast<int>(y.shape()[1]),
          static_cast<int>(first_row),
          static_cast<int>(first_column)};
}

LaunchShape shape_for(Context& context, int64_t count) {
  return {dim3(blocks_for(count, kThreads, context.facts().multiprocessors * 32)), dim3(kThreads)};
}

}  // namespace

void fold_pixels(Context& context, const Array& x, int64_t first_row, int64_t first_column, const Array& y) {
  const int64_t packs = y.size() / kPack;
  if (packs == 0) return;
  const auto run = [&](auto kernel) {
    enqueue(context, shape_for(context, packs), kernel, folded_images(x, first_row, first_column, y),
            static_cast<const uint16_t*>(x.raw_data()), packs, static_cast<Pack<uint16_t, kPack>*>(y.raw_data()));
  };
  switch (x.shape()[1]) {
    case 1:
      return run(fold_pixels_kernel<1>);
    case 2:
      return run(fold_pixels_kernel<2>);
    case 3:
      return run(fold_pixels_kernel<3>);
    default:
      return run(fold_pixels_kernel<4>);
  }
}

void unfold_pixels(Context& context, const Array& y, int64_t first_row, int64_t first_column, const Array& x) {
  if (x.size() == 0) return;
  enqueue(context, shape_for(context, x.size()), unfold_pixels_kernel, folded_images(x, first_row, first_column, y),
          static_cast<int>(x.shape()[1]), static_cast<const uint16_t*>(y.raw_data()), x.size(),
          static_cast<uint16_t*>(x.raw_data()));
}

void widen_channels(Context& context, const void* from, int64_t rows, int64_t channels, void* to, int64_t wider) {
  const int64_t packs_of_row = wider / kPack, packs = rows * packs_of_row;
  if (packs == 0) return;
  enqueue(context, {dim3(blocks_for(packs, kThreads, context.facts().multiprocessors * 32)), dim3(kThreads)},
          widen_channels_kernel, static_cast<const uint16_t*>(from), packs, static_cast<int>(channels),
          static_cast<int>(packs_of_row), static_cast<Pack<uint16_t, kPack>*>(to));
}

}  // namespace kusari::cuda
