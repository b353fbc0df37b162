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

}  // namespace

void widen_channels(Context& context, const void* from, int64_t rows, int64_t channels, void* to, int64_t wider) {
  const int64_t packs_of_row = wider / kPack, packs = rows * packs_of_row;
  if (packs == 0) return;
  enqueue(context, {dim3(blocks_for(packs, kThreads, context.facts().multiprocessors * 32)), dim3(kThreads)},
          widen_channels_kernel, static_cast<const uint16_t*>(from), packs, static_cast<int>(channels),
          static_cast<int>(packs_of_row), static_cast<Pack<uint16_t, kPack>*>(to));
}

}  // namespace kusari::cuda
