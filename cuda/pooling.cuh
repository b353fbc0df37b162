#pragma once

#include "kusari/cuda/channels_last.h"
#include "kusari/cuda/context.h"
#include "kusari/cuda/launch.cuh"
#include "kusari/cuda/pack_access.cuh"
#include "kusari/cuda/pixel_index.cuh"
#include "kusari/framework/kernels/pooling.h"

// One thread makes one pack of channels of one pixel of the target. Forward it visits the places of the pixel's window
// in x; backward, the windows of y that hold the pixel: both are a few neighbours along each axis, so gradients are
// gathered and no two threads meet.
namespace kusari::cuda::pooling {

inline constexpr int kThreads = 256;
inline constexpr int kAxes = kMaxNdim - 2;

struct Axis {
  int sources = 1, places = 1;  ///< sizes of the source's and of x's axis
  int ksize = 1, stride = 1, pad = 0;
  int count = 1;  ///< most neighbours that a target visits
  Extent targets{1};
  Divisor by_stride{1};

  /// The first neighbour; forward it may lie before the source.
  template <bool kBackward>
  __device__ __forceinline__ int first(int target) const {
    if constexpr (!kBackward) return target * stride - pad;
    const int behind = target + pad - ksize;
    return behind < 0 ? 0 : static_cast<int>(by_stride.quotient(static_cast<uint32_t>(behind))) + 1;
  }
  /// The place within its window that neighbour i stands for: none if negative or too large.
  template <bool kBackward>
  __device__ __forceinline__ int number(int target, int first, int i) const {
    return kBackward ? target + pad - (first + i) * stride : i;
  }
  template <bool kBackward>
  __device__ __forceinline__ bool has(int source, int number) const {
    return source >= 0 && source < sources && (!kBackward || number >= 0);
  }
  /// Places of window `source` that are inside x.
  __device__ __forceinline__ int inside(int source) const {
    const int begin = source * stride - pad, end = begin + ksize;
    return (end < places ? end : places) - (begin > 0 ? begin : 0);
  }
};

struct Geometry {
  int64_t total = 0;        ///< packs of the target
  int64_t outer_count = 1;  ///< neighbours along all outer axes
  int outer_axes = 0;       ///< spatial axes before the last two
  Extent packs{1};
  Axis rows, columns, outer[kAxes];

  Geometry(const kernels::Pooling& pooling, const Shape& x, const Shape& y, int pack, bool backward) {
    packs = Extent(x[1] / pack);
    total = x[0] * packs.size();
    outer_axes = std::max(0, pooling.ndim - 2);
    for (int i = 0; i < pooling.ndim; ++i) {
      Axis& axis = i == pooling.ndim - 1 ? columns : i == pooling.ndim - 2 ? rows : outer[i];
      const int64_t from = backward ? y[2 + i] : x[2 + i], to = backward ? x[2 + i] : y[2 + i];
      axis.sources = static_cast<int>(from);
      axis.places = static_cast<int>(x[2 + i]);
      axis.ksize = static_cast<int>(pooling.ksize[i]);
      axis.stride = static_cast<int>(pooling.stride[i]);
      axis.pad = static_cast<int>(pooling.pad[i]);
      axis.count = backward ? (axis.ksize + axis.stride - 1) / axis.stride : axis.ksize;
      axis.targets = Extent(to);
      axis.by_stride = Divisor(axis.stride);
      total *= to;
      if (i < outer_axes) outer_count *= axis.count;
    }
  }
  /// The neighbours along rows and columns, if they are as many.
  int square() const { return rows.count == columns.count ? columns.count : 0; }
  LaunchShape shape() const { return {dim3(blocks_for(total, kThreads)), dim3(kThreads)}; }
};

/// One neighbour along the axes that were visited so far.
struct Neighbour {
  int64_t source;  ///< its pixel
  int number;      ///< of the place in the window
  int inside;      ///< places of its window inside x
  bool exists;

  template <bool kBackward>
  __device__ __forceinline__ Neighbour along(const Axis& axis, int target, int first, int i) const {
    const int at = first + i, place = axis.number<kBackward>(target, first, i);
    return {source * axis.sources + at, number * axis.ksize + place, kBackward ? inside * axis.inside(at) : inside,
            exists && axis.has<kBackward>(at, place)};
  }
};

/// Op::Loaded = op.load(pack of the source), op.visit(state, loaded, neighbour), op.finish_row(state),
/// op.finish(state, pack of the target). kSquare: the neighbours along rows and columns, 0 for any.
template <class Op, bool kBackward, int kSquare>
__global__ void __launch_bounds__(kThreads, kBackward && kSquare == 3 ? 1 : 3) pool(Geometry g, Op op) {
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
  enqueue(context, geometry.shape(), kernel, geometry, op);
}

}  // namespace kusari::cuda::pooling
