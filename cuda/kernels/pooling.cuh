#pragma once

#include "kusari/cuda/kernels/channels_last.h"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/plans/pooling_geometry.h"
#include "kusari/cuda/runtime/context.h"

// One thread makes one pack of channels of one pixel of the target. Forward it visits the places of the pixel's window
// in x; backward, the windows of y that hold the pixel: both are a few neighbours along each axis, so gradients are
// gathered and no two threads meet.
namespace kusari::cuda::pooling {

inline LaunchShape shape_of(const Geometry& geometry) { return {dim3(geometry.blocks()), dim3(kThreads)}; }

/// Blocks of a multiprocessor, as few as leave a thread registers for all that it has loaded (85, 128 or 255).
template <bool kBackward, int kSquare>
inline constexpr int kBlocks = kSquare < 2    ? 3
                               : kSquare == 2 ? (kBackward ? 2 : 3)
                                              : (kBackward ? 1 : 2);

/// Op::Loaded = op.load(pack of the source), op.visit(state, loaded, neighbour), op.finish_row(state),
/// op.finish(state, pack of the target). kSquare: the neighbours along rows and columns, 0 for any.
template <class Op, bool kBackward, int kSquare>
__global__ void __launch_bounds__(kThreads, kBlocks<kBackward, kSquare>) pool(Geometry g, Op op) {
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= g.total) return;
  int64_t rest = target;
  const int pack = g.packs.take(rest), w = g.columns.targets.take(rest), h = g.rows.targets.take(rest);
  const int first_w = g.columns.first<kBackward>(w), first_h = g.rows.first<kBackward>(h);
  typename Op::State state{};
  for (int64_t outer = 0; outer < g.outer_count; ++outer) {
    Neighbour plane{0, 0, 1, true};
    if (g.outer_axes == 0) {
      plane.source = rest;
    } else {
      int64_t image = rest, left = outer;
      int place[kAxes], neighbour[kAxes];
      for (int i = g.outer_axes - 1; i >= 0; --i) {
        place[i] = g.outer[i].targets.take(image);
        neighbour[i] = static_cast<int>(left % g.outer[i].count);
        left /= g.outer[i].count;
      }
      plane.source = image;
      for (int i = 0; i < g.outer_axes; ++i) {
        plane = plane.along<kBackward>(g.outer[i], place[i], g.outer[i].first<kBackward>(place[i]), neighbour[i]);
      }
      if (!plane.exists) continue;
    }
    if constexpr (kSquare > 0) {
      // All loads first, so that they are under way together.
      typename Op::Loaded loaded[kSquare][kSquare];
#pragma unroll
      for (int i = 0; i < kSquare; ++i) {
        const Neighbour row = plane.along<kBackward>(g.rows, h, first_h, i);
#pragma unroll
        for (int j = 0; j < kSquare; ++j) {
          const Neighbour one = row.along<kBackward>(g.columns, w, first_w, j);
          if (one.exists) loaded[i][j] = op.load(one.source * g.packs.size() + pack);
        }
      }
#pragma unroll
      for (int i = 0; i < kSquare; ++i) {
        const Neighbour row = plane.along<kBackward>(g.rows, h, first_h, i);
#pragma unroll
        for (int j = 0; j < kSquare; ++j) {
          const Neighbour one = row.along<kBackward>(g.columns, w, first_w, j);
          if (one.exists) op.visit(state, loaded[i][j], one);
        }
      }
    } else {
      for (int i = 0; i < g.rows.count; ++i) {
        const Neighbour row = plane.along<kBackward>(g.rows, h, first_h, i);
        if (!row.exists) continue;
        for (int j = 0; j < g.columns.count; ++j) {
          const Neighbour one = row.along<kBackward>(g.columns, w, first_w, j);
          if (one.exists) op.visit(state, op.load(one.source * g.packs.size() + pack), one);
        }
        op.finish_row(state);
      }
    }
  }
  op.finish(state, target);
}

/// Launches pool() in the form for the geometry's neighbours. Single elements have the general one alone.
template <bool kBackward, int V, class Op>
void run(Context& context, const Geometry& geometry, const Op& op) {
  if (geometry.total == 0) return;
  auto kernel = pool<Op, kBackward, 0>;
  if constexpr (V > 1 && Op::kUnrolled) {
    if (geometry.square() == 1) kernel = pool<Op, kBackward, 1>;
    if (geometry.square() == 2) kernel = pool<Op, kBackward, 2>;
    if (geometry.square() == 3) kernel = pool<Op, kBackward, 3>;
  }
  enqueue(context, shape_of(geometry), kernel, geometry, op);
}

}  // namespace kusari::cuda::pooling
