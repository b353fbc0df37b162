#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/cuda/kernels/pixel_index.cuh"
#include "kusari/cuda/plans/block_count.h"
#include "kusari/framework/core/host_device.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/kernels/pooling.h"

// Which thread makes which pixel of a pooling or of its gradient, and what it visits for that.
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
  KUSARI_HOST_DEVICE int first(int target) const {
    if constexpr (!kBackward) return target * stride - pad;
    const int behind = target + pad - ksize;
    return behind < 0 ? 0 : static_cast<int>(by_stride.quotient(static_cast<uint32_t>(behind))) + 1;
  }
  /// The place within its window that neighbour i stands for: none if negative or too large.
  template <bool kBackward>
  KUSARI_HOST_DEVICE int number(int target, int first, int i) const {
    return kBackward ? target + pad - (first + i) * stride : i;
  }
  template <bool kBackward>
  KUSARI_HOST_DEVICE bool has(int source, int number) const {
    return source >= 0 && source < sources && (!kBackward || number >= 0);
  }
  /// Places of window `source` that are inside x.
  KUSARI_HOST_DEVICE int inside(int source) const {
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
  unsigned blocks() const { return blocks_for(total, kThreads); }
};

/// One neighbour along the axes that were visited so far.
struct Neighbour {
  int64_t source;  ///< its pixel
  int number;      ///< of the place in the window
  int inside;      ///< places of its window inside x
  bool exists;

  template <bool kBackward>
  KUSARI_HOST_DEVICE Neighbour along(const Axis& axis, int target, int first, int i) const {
    const int at = first + i, place = axis.number<kBackward>(target, first, i);
    return {source * axis.sources + at, number * axis.ksize + place, kBackward ? inside * axis.inside(at) : inside,
            exists && axis.has<kBackward>(at, place)};
  }
};

}  // namespace kusari::cuda::pooling
