#pragma once

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/pixel_index.cuh"
#include "kusari/cuda/plans/pooling_geometry.h"
#include "kusari/cuda/runtime/context.h"

// The gradient of max pooling for square windows whose size and stride are known when this is compiled. A thread makes
// the kStride x kStride pixels of gx that the same few windows hold, from one load of each: pool() loads and compares
// as often for each pixel, which takes four times as long as memory on an H100.
namespace kusari::cuda::pooling {

/// Blocks of pixels along one axis. Counted from the padding's first place, block m has the places m kStride and on.
struct BlockAxis {
  int windows = 1, places = 1;  ///< sizes of gy's and of gx's axis
  int pad = 0;
  int first = 0;  ///< block with a place inside of gx
  Extent blocks{1};

  BlockAxis(const Axis& axis, int stride)
      : windows{axis.sources}, places{axis.places}, pad{axis.pad}, first{axis.pad / stride} {
    blocks = Extent((axis.places - 1 + axis.pad) / stride - first + 1);
  }
};

struct Blocks {
  int64_t total = 0;  ///< packs of all blocks
  Extent packs{1};
  BlockAxis rows, columns;

  Blocks(const Geometry& g, int64_t images, int stride)
      : packs{g.packs}, rows{g.rows, stride}, columns{g.columns, stride} {
    total = images * rows.blocks.size() * columns.blocks.size() * packs.size();
  }
};

template <class S, int V, int kSize, int kStride>
__global__ void __launch_bounds__(kThreads, 3) gather_blocks(Blocks g, const S* gy, const uint8_t* index, S* gx) {
  using T = Compute<S>;
  constexpr int kWindows = (kSize - 1) / kStride + 1;  // along an axis, of those that hold a place of the block
  constexpr uint8_t kNowhere = kSize * kSize;
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= g.total) return;
  int64_t image = target;
  const int pack = g.packs.take(image);
  const int column = g.columns.first + g.columns.blocks.take(image), row = g.rows.first + g.rows.blocks.take(image);

  Pack<S, V> gradient[kWindows][kWindows];
  Pack<uint8_t, V> place[kWindows][kWindows];
#pragma unroll
  for (int i = 0; i < kWindows; ++i) {
    const int h = row - i;
#pragma unroll
    for (int j = 0; j < kWindows; ++j) {
      const int w = column - j;
      if (h >= 0 && h < g.rows.windows && w >= 0 && w < g.columns.windows) {
        const int64_t from = ((image * g.rows.windows + h) * g.columns.windows + w) * g.packs.size() + pack;
        gradient[i][j] = load_pack<V>(gy, from);
        place[i][j] = load_pack<V>(index, from);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) place[i][j].at[v] = kNowhere;
      }
    }
  }
#pragma unroll
  for (int a = 0; a < kStride; ++a) {
    const int h = row * kStride + a - g.rows.pad;
#pragma unroll
    for (int b = 0; b < kStride; ++b) {
      const int w = column * kStride + b - g.columns.pad;
      T sum[V] = {};
#pragma unroll
      for (int i = kWindows - 1; i >= 0; --i) {  // in the order of the windows
        if (a + i * kStride >= kSize) continue;
#pragma unroll
        for (int j = kWindows - 1; j >= 0; --j) {
          if (b + j * kStride >= kSize) continue;
          const int number = (a + i * kStride) * kSize + b + j * kStride;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if (place[i][j].at[v] == number) sum[v] += widen(gradient[i][j].at[v]);
          }
        }
      }
      if (h < 0 || h >= g.rows.places || w < 0 || w >= g.columns.places) continue;
      Pack<S, V> values;
#pragma unroll
      for (int v = 0; v < V; ++v) values.at[v] = narrow<S>(sum[v]);
      store_pack(gx, ((image * g.rows.places + h) * g.columns.places + w) * g.packs.size() + pack, values);
    }
  }
}

/// Launches gather_blocks() if it is made for the windows of the geometry, which is that of the gradient.
template <class S, int V>
bool run_blocks(Context& context, const Geometry& geometry, int ndim, int64_t images, const S* gy, const uint8_t* index,
                S* gx) {
  const Axis &rows = geometry.rows, &columns = geometry.columns;
  if (ndim != 2 || rows.ksize != columns.ksize || rows.stride != columns.stride) return false;
  const auto launch = [&](auto kernel) {
    const Blocks blocks(geometry, images, rows.stride);
    if (blocks.total == 0) return true;
    enqueue(context, {dim3(blocks_for(blocks.total, kThreads)), dim3(kThreads)}, kernel, blocks, gy, index, gx);
    return true;
  };
  if (rows.ksize == 3 && rows.stride == 2) return launch(gather_blocks<S, V, 3, 2>);
  if (rows.ksize == 2 && rows.stride == 2) return launch(gather_blocks<S, V, 2, 2>);
  return false;
}

}  // namespace kusari::cuda::pooling
