#include "kusari/framework/kernels/roi.h"

#include "kusari/cuda/kernels/any_numbers.cuh"
#include "kusari/cuda/kernels/channels_last.h"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/pixel_index.cuh"
#include "kusari/cuda/kernels/row_index.cuh"
#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

// A first kernel makes a table of the regions. Results are one thread for each bin and pack of channels. The gradient
// is gathered: each pixel visits the regions of its image, which are sorted by it, in their order, so that no two
// threads meet.
namespace kusari::cuda {
namespace {

using kernels::Roi;
using kernels::RoiKind;

constexpr int kThreads = 256;

bool is_align(const Roi& roi) { return roi.kind == RoiKind::max_align || roi.kind == RoiKind::average_align; }
bool is_max(const Roi& roi) { return roi.kind == RoiKind::max_pooling || roi.kind == RoiKind::max_align; }

/// One or two neighbouring pixels along an axis with their weights: a pixel of pooling, a sample of align.
template <class T>
struct Tap {
  int pixel[2];
  T weight[2];

  __device__ __forceinline__ bool is_inside() const { return weight[0] > 0 || weight[1] > 0; }
  __device__ __forceinline__ T of(int at) const {
    return (pixel[0] == at ? weight[0] : 0) + (pixel[1] == at ? weight[1] : 0);
  }
};

/// A number of pixels as two floats, of about 48 bits: cards for games compute 64 times as slowly in float64.
struct Pair {
  float high, low;

  __device__ __forceinline__ static Pair of(double x) {
    const auto high = static_cast<float>(x);
    return {high, static_cast<float>(x - static_cast<double>(high))};
  }
  /// The exact product and sum of the high parts (Dekker 1971).
  __device__ __forceinline__ Pair times(float factor) const {
    const float product = __fmul_rn(high, factor);
    return Pair{product, __fmaf_rn(low, factor, __fmaf_rn(high, factor, -product))}.normalized();
  }
  __device__ __forceinline__ Pair plus(const Pair& other) const {
    const float sum = __fadd_rn(high, other.high), part = __fadd_rn(sum, -high);
    const float rest = __fadd_rn(__fadd_rn(high, -__fadd_rn(sum, -part)), __fadd_rn(other.high, -part));
    return Pair{sum, __fadd_rn(rest, __fadd_rn(low, other.low))}.normalized();
  }
  __device__ __forceinline__ Pair normalized() const {
    const float sum = __fadd_rn(high, low);
    return {sum, __fadd_rn(low, -__fadd_rn(sum, -high))};
  }
  __device__ __forceinline__ int floor() const {
    const float whole = ::floorf(high);
    return static_cast<int>(whole) - (whole == high && low < 0 ? 1 : 0);
  }
  __device__ __forceinline__ float minus(int whole) const {
    return __fadd_rn(__fadd_rn(high, -static_cast<float>(whole)), low);
  }
};

/// A region along one axis.
struct Side {
  double begin, width, step;  ///< of the first bin, of each, and of a sample; in pixels
  Pair begin_pair, width_pair, step_pair;
  int samples;       ///< taps of a bin of align; 0 for pooling
  int by_pixel;      ///< 1: a sample is two taps, one for each of its pixels
  int size;          ///< pixels of the image
  int low, high;     ///< the pixels that any bin may touch, `high` excluded
  const int* edges;  ///< first pixel of each bin of pooling, and the one behind its last

  /// Taps of a bin.
  __device__ __forceinline__ int count(int bin) const {
    return samples > 0 ? samples : edges[2 * bin + 1] - edges[2 * bin];
  }
  template <class T>
  __device__ __forceinline__ Tap<T> tap(int bin, int i) const {
    if (samples == 0) return {{edges[2 * bin] + i, 0}, {1, 0}};
    if constexpr (sizeof(T) == sizeof(double)) {
      const double p = begin + static_cast<double>(bin) * width + (static_cast<double>(i >> by_pixel) + 0.5) * step;
      const int floor = p >= -1 && p <= static_cast<double>(size) ? static_cast<int>(::floor(p)) : size + 1;
      return part_of(sample<double>(floor, p - static_cast<double>(floor)), i);
    } else {
      const Pair p = begin_pair.plus(width_pair.times(static_cast<float>(bin)))
                         .plus(step_pair.times(static_cast<float>(i >> by_pixel) + 0.5f));
      const bool is_near = p.high >= -2 && p.high <= static_cast<float>(size + 1);
      const int floor = is_near ? p.floor() : size + 1;
      return part_of(sample<float>(floor, p.minus(floor)), i);
    }
  }
  /// body(bin, i, tap) for the taps that touch pixel `at`, in their order.
  template <class T, class Body>
  __device__ __forceinline__ void for_each_near(int at, int bins, const Body& body) const {
    if (samples == 0) {
      for (int bin = 0; bin < bins; ++bin) {
        if (at >= edges[2 * bin] && at < edges[2 * bin + 1])
          body(bin, at - edges[2 * bin], tap<T>(bin, at - edges[2 * bin]));
      }
      return;
    }
    // Samples lie `step` apart, and touch pixels less than one from them; one more on either side for the rounding.
    const float distance = (static_cast<float>(at) - begin_pair.high) - begin_pair.low;
    const float each = static_cast<float>(1 + by_pixel) / step_pair.high;
    const float most = static_cast<float>(bins) * static_cast<float>(samples);
    const float first = (distance - 1) * each - 1.5f, last = (distance + 1) * each + 1.5f;
    const int begin_sample = static_cast<int>(first < 0 ? 0 : first > most ? most : first);
    const int end_sample = static_cast<int>(last < 0 ? 0 : last > most ? most : ::ceilf(last));
    for (int k = begin_sample; k < end_sample; ++k) {
      const Tap<T> near = tap<T>(k / samples, k % samples);
      if (near.of(at) > 0) body(k / samples, k % samples, near);
    }
  }

 private:
  template <class T>
  __device__ __forceinline__ Tap<T> part_of(Tap<T> tap, int i) const {
    if (by_pixel != 0) (i % 2 == 0 ? tap.weight[1] : tap.weight[0]) = 0;
    return tap;
  }
  /// A linear interpolation `part` behind pixel `floor`; no weight at all beyond one pixel from the image.
  template <class T>
  __device__ __forceinline__ Tap<T> sample(int floor, T part) const {
    Tap<T> tap{{0, 0}, {0, 0}};
    if (floor < -1 || floor > size || (floor == size && part > 0)) return tap;
    const int low_pixel = floor < size ? floor : size - 1, next = low_pixel + 1;
    if (low_pixel >= 0) {
      tap.pixel[0] = low_pixel;
      tap.weight[0] = next >= size ? 1 : T(1) - part;
    }
    if (next < size) {
      tap.pixel[1] = next;
      tap.weight[1] = low_pixel < 0 ? 1 : part;
    }
    return tap;
  }
};

struct Region {
  int64_t image;  ///< -1: there is none, and the region holds no pixel
  Side rows, columns;
};

/// The pixel that is so far from the first bin's begin, in the image or at its edge.
__device__ inline int limited(double at, int size) { return at < 0 ? 0 : at > size ? size : static_cast<int>(at); }

/// edges: room for two numbers for each bin.
__device__ inline Side side_of(const Roi& roi, bool align, int axis, double begin, double end, int size, int* edges) {
  Side side{};
  const double bins = static_cast<double>(roi.out[axis]), limit = static_cast<double>(size);
  side.size = size;
  side.begin = begin * roi.spatial_scale;
  end *= roi.spatial_scale;
  if (align) {
    const double length = end - side.begin > roi.least_size ? end - side.begin : roi.least_size;
    side.width = length / bins;
    side.samples = static_cast<int>(roi.sampling_ratio[axis] > 0 ? static_cast<double>(roi.sampling_ratio[axis])
                                                                 : ::ceil(side.width));
    // A sample lies between two pixels or less than one beyond the last.
    const double low = ::floor(side.begin) - 1, high = ::floor(side.begin + length) + 3;
    side.low = static_cast<int>(low < 0 ? 0 : low > limit - 1 ? limit - 1 : low);
    side.high = static_cast<int>(high < 0 ? 0 : high > limit ? limit : high);
  } else {
    side.begin = ::nearbyint(side.begin);
    end = ::nearbyint(end) + (roi.includes_last_pixel ? 1 : 0);
    side.width = (end - side.begin > 1 ? end - side.begin : 1) / bins;
    side.edges = edges;
    const int out = static_cast<int>(roi.out[axis]);
    for (int bin = 0; bin < out; ++bin) {
      edges[2 * bin] = limited(::floor(static_cast<double>(bin) * side.width) + side.begin, size);
      edges[2 * bin + 1] = limited(::ceil(static_cast<double>(bin + 1) * side.width) + side.begin, size);
    }
    side.low = edges[0];
    side.high = edges[2 * out - 1];
  }
  side.step = align ? side.width / static_cast<double>(side.samples) : 0;
  side.by_pixel = align && roi.by_pixel ? 1 : 0;
  side.samples <<= side.by_pixel;
  side.begin_pair = Pair::of(side.begin);
  side.width_pair = Pair::of(side.width);
  side.step_pair = Pair::of(side.step);
  return side;
}

__global__ void __launch_bounds__(kThreads)
    find_regions(Roi roi, bool align, int64_t count, AnyNumbers rois, const void* indices, Dtype index_dtype,
                 int64_t images, int height, int width, int* edges, Region* regions) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= count) return;
  double corner[4];
  bool is_sound = true;
  for (int i = 0; i < 4; ++i) {
    corner[i] = rois.get(4 * r + i);
    is_sound = is_sound && corner[i] - corner[i] == 0;  // finite
  }
  const int64_t image = load_integer(indices, index_dtype, r);
  is_sound = is_sound && image >= 0 && image < images;
  regions[r].image = is_sound ? image : -1;
  if (!is_sound) return;
  int* const own_edges = edges + r * 2 * (roi.out[0] + roi.out[1]);
  regions[r].rows = side_of(roi, align, 0, corner[0], corner[2], height, own_edges);
  regions[r].columns = side_of(roi, align, 1, corner[1], corner[3], width, own_edges + 2 * roi.out[0]);
  if (align && (regions[r].rows.samples == 0 || regions[r].columns.samples == 0)) regions[r].image = -1;
}

/// The arrays of bins and of pixels, channels-last, in packs.
struct Geometry {
  int64_t total = 0;          ///< packs of the result
  Extent packs{1};            ///< of a pixel or bin
  Extent inner{1}, outer{1};  ///< columns and rows of the result
  int height = 0, width = 0;  ///< of the images
  int out[2] = {1, 1};
  bool align = false;
  double value_of_nothing = 0;

  Geometry(const Roi& roi, const Shape& images, const Shape& result, int pack)
      : total{numel(result) / pack},
        packs{images[1] / pack},
        inner{result[3]},
        outer{result[2]},
        height{static_cast<int>(images[2])},
        width{static_cast<int>(images[3])},
        out{static_cast<int>(roi.out[0]), static_cast<int>(roi.out[1])},
        align{is_align(roi)},
        value_of_nothing{roi.value_of_nothing} {}
  LaunchShape shape() const { return {dim3(blocks_for(total, kThreads)), dim3(kThreads)}; }
  /// What argmax calls tap (i, j) of a bin.
  template <class T>
  __device__ __forceinline__ int number(const Region& region, const Tap<T>& y, int i, const Tap<T>& x, int j) const {
    return align ? i * region.columns.samples + j : y.pixel[0] * width + x.pixel[0];
  }
  /// body(pack of x, weight) for the up to four pixels of a sample.
  template <class T, class Body>
  __device__ __forceinline__ void for_each_pixel(const Region& region, const Tap<T>& y, const Tap<T>& x, int pack,
                                                 const Body& body) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const T weight = y.weight[i] * x.weight[j];
        if (weight > 0) {
          body(((region.image * height + y.pixel[i]) * width + x.pixel[j]) * packs.size() + pack, weight);
        }
      }
    }
  }
};

/// The thread's bin, and body(tap of rows, i, tap of columns, j) for each of its taps.
struct Bin {
  int64_t region;
  int row, column, pack;
  bool exists;

  __device__ __forceinline__ Bin(const Geometry& g, int64_t target) : region{target} {
    exists = target < g.total;
    if (!exists) return;
    pack = g.packs.take(region);
    column = g.inner.take(region);
    row = g.outer.take(region);
  }
  template <class T, class Body>
  __device__ __forceinline__ void for_each_tap(const Region& where, const Body& body) const {
    if (where.image < 0) return;
    const int rows = where.rows.count(row), columns = where.columns.count(column);
    for (int i = 0; i < rows; ++i) {
      const Tap<T> y = where.rows.tap<T>(row, i);
      if (where.rows.by_pixel == 0 && !y.is_inside()) continue;
      for (int j = 0; j < columns; ++j) {
        const Tap<T> x = where.columns.tap<T>(column, j);
        if (where.rows.by_pixel != 0 || x.is_inside()) body(y, i, x, j);
      }
    }
  }
};

__device__ __forceinline__ int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; }

template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    take_largest(Geometry g, const Region* regions, const S* x, S* y, int* argmax) {
  using T = Compute<S>;
  const Bin bin(g, thread_number());
  if (!bin.exists) return;
  const Region region = regions[bin.region];
  T best[V];
  int at[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    best[v] = static_cast<T>(g.value_of_nothing);
    at[v] = -1;
  }
  bin.for_each_tap<T>(region, [&](const Tap<T>& ty, int i, const Tap<T>& tx, int j) {
    T value[V] = {};
    g.for_each_pixel(region, ty, tx, bin.pack, [&](int64_t pixel, T weight) {
      const Pack<S, V> pack = load_pack<V>(x, pixel);
#pragma unroll
      for (int v = 0; v < V; ++v) value[v] += weight * widen(pack.at[v]);
    });
    const int number = g.number(region, ty, i, tx, j);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (at[v] >= 0 && (value[v] <= best[v] || best[v] != best[v])) continue;  // the first of equal ones, or of NaN
      best[v] = value[v];
      at[v] = number;
    }
  });
  Pack<S, V> out;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    out.at[v] = narrow<S>(best[v]);
    argmax[thread_number() * V + v] = at[v];
  }
  store_pack(y, thread_number(), out);
}

template <class S, int V>
__global__ void __launch_bounds__(kThreads) take_mean(Geometry g, const Region* regions, const S* x, S* y) {
  using T = Compute<S>;
  const Bin bin(g, thread_number());
  if (!bin.exists) return;
  const Region region = regions[bin.region];
  T sum[V] = {};
  bin.for_each_tap<T>(region, [&](const Tap<T>& ty, int, const Tap<T>& tx, int) {
    g.for_each_pixel(region, ty, tx, bin.pack, [&](int64_t pixel, T weight) {
      const Pack<S, V> pack = load_pack<V>(x, pixel);
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] += weight * widen(pack.at[v]);
    });
  });
  const int taps = region.image < 0 ? 0 : region.rows.count(bin.row) * region.columns.count(bin.column);
  Pack<S, V> out;
#pragma unroll
  for (int v = 0; v < V; ++v) out.at[v] = narrow<S>(sum[v] / static_cast<T>(taps > 1 ? taps : 1));
  store_pack(y, thread_number(), out);
}

template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    take_picked(Geometry g, const Region* regions, const S* x, const int* argmax, S* y) {
  using T = Compute<S>;
  const Bin bin(g, thread_number());
  if (!bin.exists) return;
  const Region region = regions[bin.region];
  T sum[V] = {};
  bin.for_each_tap<T>(region, [&](const Tap<T>& ty, int i, const Tap<T>& tx, int j) {
    const int number = g.number(region, ty, i, tx, j);
    bool wanted[V], any = false;
#pragma unroll
    for (int v = 0; v < V; ++v) any |= wanted[v] = argmax[thread_number() * V + v] == number;
    if (!any) return;
    g.for_each_pixel(region, ty, tx, bin.pack, [&](int64_t pixel, T weight) {
      const Pack<S, V> pack = load_pack<V>(x, pixel);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (wanted[v]) sum[v] += weight * widen(pack.at[v]);
      }
    });
  });
  Pack<S, V> out;
#pragma unroll
  for (int v = 0; v < V; ++v) out.at[v] = narrow<S>(sum[v]);
  store_pack(y, thread_number(), out);
}

/// Regions ordered by image: the first place of an image's among the keys.
struct RegionOrder {
  const RowKey* keys;
  int64_t count;
  int bits;

  __device__ __forceinline__ int64_t first_of(int64_t image) const {
    const RowKey wanted = static_cast<RowKey>(image) << bits;
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (keys[middle] < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  __device__ __forceinline__ int64_t image(int64_t place) const { return static_cast<int64_t>(keys[place] >> bits); }
  __device__ __forceinline__ int64_t region(int64_t place) const {
    return static_cast<int64_t>(keys[place] & ((RowKey{1} << bits) - 1));
  }
};

/// argmax is null for averages.
template <class S, int V>
__global__ void __launch_bounds__(kThreads, 3)  // it would spill for a fourth block
    gather(Geometry g, RegionOrder order, const Region* regions, const S* gy, const int* argmax, S* gx) {
  using T = Compute<S>;
  const int64_t target = thread_number();
  if (target >= g.total) return;
  int64_t image = target;
  const int pack = g.packs.take(image), w = g.inner.take(image), h = g.outer.take(image);
  T sum[V] = {};
  for (int64_t place = order.first_of(image); place < order.count && order.image(place) == image; ++place) {
    const int64_t r = order.region(place);
    const Region& region = regions[r];
    if (region.image != image || h < region.rows.low || h >= region.rows.high || w < region.columns.low ||
        w >= region.columns.high) {
      continue;
    }
    region.rows.for_each_near<T>(h, g.out[0], [&](int row, int i, const Tap<T>& ty) {
      const T down = ty.of(h);
      region.columns.for_each_near<T>(w, g.out[1], [&](int column, int j, const Tap<T>& tx) {
        const T weight = down * tx.of(w);
        const int64_t bin = ((r * g.out[0] + row) * g.out[1] + column) * g.packs.size() + pack;
        const Pack<S, V> gradient = load_pack<V>(gy, bin);
        if (argmax == nullptr) {
          const T factor = weight / static_cast<T>(region.rows.count(row) * region.columns.count(column));
#pragma unroll
          for (int v = 0; v < V; ++v) sum[v] += factor * widen(gradient.at[v]);
        } else {
          const int number = g.number(region, ty, i, tx, j);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if (argmax[bin * V + v] == number) sum[v] += weight * widen(gradient.at[v]);
          }
        }
      });
    });
  }
  Pack<S, V> out;
#pragma unroll
  for (int v = 0; v < V; ++v) out.at[v] = narrow<S>(sum[v]);
  store_pack(gx, target, out);
}

/// The regions of a call, found on the device.
class Regions {
 public:
  Regions(Context& context, const Roi& roi, const Array& rois, const Array& roi_indices, const Shape& images)
      : count_{rois.shape()[0]},
        scratch_{context, static_cast<size_t>(count_) *
                              (sizeof(Region) + 2 * sizeof(int) * static_cast<size_t>(roi.out[0] + roi.out[1]))} {
    if (count_ == 0) return;
    int* const edges = reinterpret_cast<int*>(data() + count_);
    const Array corners = rois.contiguous(), indices = roi_indices.contiguous();
    enqueue(context, {dim3(blocks_for(count_, kThreads)), dim3(kThreads)}, find_regions, roi, is_align(roi), count_,
            AnyNumbers(corners), indices.raw_data(), indices.dtype(), images[0], static_cast<int>(images[2]),
            static_cast<int>(images[3]), edges, data());
  }
  int64_t count() const { return count_; }
  Region* data() const { return scratch_.data<Region>(); }

 private:
  int64_t count_;
  Scratch scratch_;
};

void roi_forward(Params<Roi> roi, In x, In rois, In roi_indices, Out y, Out argmax) {
  if (y->size() == 0) return;
  Context& context = Context::of(x);
  const Array from = channels_last_input(x);
  const ChannelsLastOutput to(y), at(argmax);
  const Regions regions(context, *roi, rois, roi_indices, x->shape());
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Geometry geometry(*roi, x->shape(), y->shape(), V);
    S* const result = to.template data<S>();
    if (is_max(*roi)) {
      enqueue(context, geometry.shape(), take_largest<S, V>, geometry, regions.data(), from.data<S>(), result,
              at.template data<int>());
    } else {
      enqueue(context, geometry.shape(), take_mean<S, V>, geometry, regions.data(), from.data<S>(), result);
    }
  });
  to.finish();
  if (is_max(*roi)) at.finish();
}

void roi_grad(Params<Roi> roi, In gy, In rois, In roi_indices, In argmax, Out gx) {
  if (gx->size() == 0) return;
  if (gy->size() == 0) return gx->fill(0.0);
  Context& context = Context::of(gy);
  const Array from = channels_last_input(gy), at = argmax ? channels_last_input(argmax) : Array();
  const ChannelsLastOutput to(gx);
  const Regions regions(context, *roi, rois, roi_indices, gx->shape());
  const Array images = roi_indices->contiguous();
  const SortedRows sorted(context, RowIndex({"roi_grad"}, images, gx->shape()[0]));
  const RegionOrder order{sorted.keys(), regions.count(), sorted.bits()};
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Geometry geometry(*roi, gx->shape(), gx->shape(), V);
    enqueue(context, geometry.shape(), gather<S, V>, geometry, order, regions.data(), from.data<S>(),
            at.is_defined() ? at.data<int>() : nullptr, to.template data<S>());
  });
  to.finish();
}

void roi_pick(Params<Roi> roi, In x, In rois, In roi_indices, In argmax, Out y) {
  if (y->size() == 0) return;
  Context& context = Context::of(x);
  const Array from = channels_last_input(x), at = channels_last_input(argmax);
  const ChannelsLastOutput to(y);
  const Regions regions(context, *roi, rois, roi_indices, x->shape());
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Geometry geometry(*roi, x->shape(), y->shape(), V);
    enqueue(context, geometry.shape(), take_picked<S, V>, geometry, regions.data(), from.data<S>(), at.data<int>(),
            to.template data<S>());
  });
  to.finish();
}

}  // namespace

void register_roi(Backend& backend) {
  backend.add<kernels::RoiForward>(roi_forward);
  backend.add<kernels::RoiGrad>(roi_grad);
  backend.add<kernels::RoiPick>(roi_pick);
}

}  // namespace kusari::cuda
