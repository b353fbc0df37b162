#include "kusari/framework/kernels/sampling.h"

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/channels_last.h"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/pixel_index.cuh"
#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;

/// What a sum of weighted packs is made in.
template <class T, int V>
struct Total {
  T at[V] = {};

  template <class S>
  __device__ __forceinline__ void add(const Pack<S, V>& pack, T weight) {
#pragma unroll
    for (int v = 0; v < V; ++v) at[v] += weight * widen(pack.at[v]);
  }
  template <class S>
  __device__ __forceinline__ void store(S* to, int64_t index) const {
    Pack<S, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) pack.at[v] = narrow<S>(at[v]);
    store_pack(to, index, pack);
  }
};

/// Images of one size, channels-last, in packs.
struct Images {
  int64_t total = 0;  ///< packs
  Extent packs{1}, columns{1}, rows{1};

  Images(const Shape& shape, int pack)
      : total{numel(shape) / pack}, packs{shape[1] / pack}, columns{shape[3]}, rows{shape[2]} {}
  LaunchShape shape() const { return {dim3(blocks_for(total, kThreads)), dim3(kThreads)}; }
  KUSARI_HOST_DEVICE int64_t pack_at(int64_t image, int row, int column, int pack) const {
    return ((image * rows.size() + row) * columns.size() + column) * packs.size() + pack;
  }
};

// --- resizing --------------------------------------------------------------------------------------------------------

/// A new element lies between elements left <= right of the given ones, by `weight` towards the right one.
struct Between {
  int left, right;
  double weight;
};

/// One axis of a resizing. Places are computed in float64, as their whole parts must be exact.
struct ResizeAxis {
  int size, new_size;
  bool nearest, align_corners;
  double scale;  ///< given elements per new one; for the nearest so little more that i * scale is not below an integer

  ResizeAxis(const kernels::Resize& resize, int64_t size_, int64_t new_size_)
      : size{static_cast<int>(size_)},
        new_size{static_cast<int>(new_size_)},
        nearest{resize.nearest},
        align_corners{resize.align_corners},
        scale{static_cast<double>(size_) / static_cast<double>(new_size_) * (resize.nearest ? 1 + 0x1p-50 : 1)} {}

  __device__ __forceinline__ Between between(int i) const {
    const double at = place(i);
    const int floor = static_cast<int>(at), first = floor < size ? floor : size - 1;
    return {first, first + 1 < size ? first + 1 : size - 1, nearest ? 0.0 : at - static_cast<double>(floor)};
  }
  /// The first new element whose `left` is at least `from`; places never decrease.
  __device__ __forceinline__ int first_of(int from) const {
    int low = 0, high = new_size;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (between(middle).left < from) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  __device__ __forceinline__ double place(int i) const {
    if (nearest) return static_cast<double>(i) * scale;
    if (!align_corners) {
      const double at = (static_cast<double>(i) + 0.5) * scale - 0.5;
      return at > 0 ? at : 0;
    }
    if (new_size == 1) return 0;
    return static_cast<double>(i) * static_cast<double>(size - 1) / static_cast<double>(new_size - 1);
  }
};

template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    resize(Images from, Images to, ResizeAxis rows, ResizeAxis columns, const S* x, S* y) {
  using T = Compute<S>;
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= to.total) return;
  int64_t image = target;
  const int pack = to.packs.take(image), j = to.columns.take(image), i = to.rows.take(image);
  const Between v = rows.between(i), u = columns.between(j);
  const T down = static_cast<T>(v.weight), right = static_cast<T>(u.weight);
  const int pixel[2][2] = {{v.left, v.right}, {u.left, u.right}};
  Pack<S, V> corner[2][2];
#pragma unroll
  for (int a = 0; a < 2; ++a) {
#pragma unroll
    for (int b = 0; b < 2; ++b) corner[a][b] = load_pack<V>(x, from.pack_at(image, pixel[0][a], pixel[1][b], pack));
  }
  Pack<S, V> out;
#pragma unroll
  for (int c = 0; c < V; ++c) {
    // An infinity beside a weight of 0 does not count.
    const auto mix = [](T a, T b, T weight) { return weight == T{0} ? a : (T{1} - weight) * a + weight * b; };
    const T first = mix(widen(corner[0][0].at[c]), widen(corner[1][0].at[c]), down);
    const T second = mix(widen(corner[0][1].at[c]), widen(corner[1][1].at[c]), down);
    out.at[c] = narrow<S>(mix(first, second, right));
  }
  store_pack(y, target, out);
}

/// Each pixel of gx gathers from the pixels of gy that it was part of.
template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    resize_grad(Images from, Images to, ResizeAxis rows, ResizeAxis columns, const S* gy, S* gx) {
  using T = Compute<S>;
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= to.total) return;
  int64_t image = target;
  const int pack = to.packs.take(image), x = to.columns.take(image), y = to.rows.take(image);
  const auto share = [](const Between& between, int at) {
    const T weight = static_cast<T>(between.weight);
    return (between.left == at ? T{1} - weight : T{0}) + (between.right == at ? weight : T{0});
  };
  const int first_column = columns.first_of(x - 1);
  Total<T, V> total;
  for (int i = rows.first_of(y - 1); i < rows.new_size; ++i) {
    const Between v = rows.between(i);
    if (v.left > y) break;
    const T down = share(v, y);
    if (down == T{0}) continue;
    Total<T, V> row;
    for (int j = first_column; j < columns.new_size; ++j) {
      const Between u = columns.between(j);
      if (u.left > x) break;
      const T right = share(u, x);
      if (right != T{0}) row.add(load_pack<V>(gy, from.pack_at(image, i, j, pack)), down * right);
    }
#pragma unroll
    for (int c = 0; c < V; ++c) total.at[c] += row.at[c];
  }
  total.store(gx, target);
}

void resize_images(Params<kernels::Resize> options, In x, Out y) {
  if (y->size() == 0) return;
  const Array from = channels_last_input(x);
  const ChannelsLastOutput to(y);
  const Shape &given = x->shape(), &wanted = y->shape();
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Images images(wanted, V);
    enqueue(Context::of(x), images.shape(), resize<S, V>, Images(given, V), images,
            ResizeAxis(*options, given[2], wanted[2]), ResizeAxis(*options, given[3], wanted[3]), from.data<S>(),
            to.template data<S>());
  });
  to.finish();
}

void resize_images_grad(Params<kernels::Resize> options, In gy, Out gx) {
  if (gx->size() == 0) return;
  if (gy->size() == 0) return gx->fill(0.0);
  const Array from = channels_last_input(gy);
  const ChannelsLastOutput to(gx);
  const Shape &given = gy->shape(), &wanted = gx->shape();
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Images images(wanted, V);
    enqueue(Context::of(gy), images.shape(), resize_grad<S, V>, Images(given, V), images,
            ResizeAxis(*options, wanted[2], given[2]), ResizeAxis(*options, wanted[3], given[3]), from.data<S>(),
            to.template data<S>());
  });
  to.finish();
}

// --- sampling at points ----------------------------------------------------------------------------------------------

/// A coordinate between two neighbours, the first of which may be -1, one before the image.
template <class T>
struct Coordinate {
  int first;
  T weight;     // of the second; a NaN stays one
  bool inside;  // the result depends on the coordinate

  __device__ __forceinline__ Coordinate(T at, int64_t size) {
    const T end = static_cast<T>(size), limited = at < T{-1} ? T{-1} : at > end ? end : at;
    first = -1;
    if (limited >= T{-1}) {
      const int64_t floor = static_cast<int64_t>(km::floor(limited));
      first = static_cast<int>(floor < size ? floor : size - 1);
    }
    weight = limited - static_cast<T>(first);
    inside = at > T{-1} && at < end;
  }
};

/// A point of an image: points is (N, 2, h, w) without gaps.
template <class T>
struct Point {
  Coordinate<T> column, row;

  __device__ __forceinline__ Point(const Images& images, const T* points, int64_t image, int64_t count, int64_t i)
      : column{points[2 * image * count + i], images.columns.size()},
        row{points[(2 * image + 1) * count + i], images.rows.size()} {}

  __device__ __forceinline__ bool has(const Images& images, int k) const {
    const int u = column.first + k % 2, v = row.first + k / 2;
    return u >= 0 && u < images.columns.size() && v >= 0 && v < images.rows.size();
  }
  __device__ __forceinline__ T share(int k) const {
    return (k % 2 == 0 ? T{1} - column.weight : column.weight) * (k / 2 == 0 ? T{1} - row.weight : row.weight);
  }
  __device__ __forceinline__ int64_t pack_at(const Images& images, int64_t image, int k, int pack) const {
    return images.pack_at(image, row.first + k / 2, column.first + k % 2, pack);
  }
};
constexpr int kCorners = 4;

template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    sample(Images from, int64_t total, Extent packs, Extent points_each, const S* x, const Compute<S>* points, S* y) {
  using T = Compute<S>;
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= total) return;
  int64_t image = target;
  const int pack = packs.take(image), i = points_each.take(image);
  const Point<T> point(from, points, image, points_each.size(), i);
  Pack<S, V> corner[kCorners];
#pragma unroll
  for (int k = 0; k < kCorners; ++k) {
    if (point.has(from, k)) corner[k] = load_pack<V>(x, point.pack_at(from, image, k, pack));
  }
  Total<T, V> sum;
#pragma unroll
  for (int k = 0; k < kCorners; ++k) {
    // Outside of x there are zeros, which a NaN coordinate makes NaN.
    const T share = point.share(k);
    if (point.has(from, k)) {
      sum.add(corner[k], share);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) sum.at[v] += share * T{0};
    }
  }
  sum.store(y, target);
}

/// One warp for each point: the dot products of its gradient with the four pixels.
template <class S>
__global__ void __launch_bounds__(kThreads)
    sample_grad_points(Images from, int64_t total, Extent points_each, const S* x, const Compute<S>* points,
                       const S* gy, Compute<S>* gpoints) {
  using T = Compute<S>;
  const int64_t number = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= total) return;
  int64_t image = number;
  const int i = points_each.take(image), lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t count = points_each.size(), channels = from.packs.size();
  const Point<T> point(from, points, image, count, i);
  T dot[kCorners] = {};
  for (int c = lane; c < channels; c += kWarp) {
    const T g = widen(gy[number * channels + c]);
#pragma unroll
    for (int k = 0; k < kCorners; ++k) {
      dot[k] += g * (point.has(from, k) ? widen(x[point.pack_at(from, image, k, c)]) : T{0});
    }
  }
#pragma unroll
  for (int k = 0; k < kCorners; ++k) dot[k] = warp_reduce(dot[k], Plus<T>{});
  if (lane > 0) return;
  const Coordinate<T>&u = point.column, &v = point.row;
  T* const to = gpoints + 2 * image * count + i;
  to[0] = u.inside ? (T{1} - v.weight) * (dot[1] - dot[0]) + v.weight * (dot[3] - dot[2]) : T{0};
  to[count] = v.inside ? (T{1} - u.weight) * (dot[2] - dot[0]) + u.weight * (dot[3] - dot[1]) : T{0};
}

// The gradient of x is gathered as well: the points of an image are sorted by the cell between four pixels that they
// lie in, equal ones in their order, and each pixel visits its four cells. So no sum depends on the order of threads.

/// The cell of a point, counted from the one before the first pixel; cells are (H + 1) x (W + 1).
template <class T>
__device__ __forceinline__ int cell_of(const Images& images, const Point<T>& point) {
  return (point.row.first + 1) * static_cast<int>(images.columns.size() + 1) + point.column.first + 1;
}

/// Each count becomes the sum of those before it; one block.
__device__ inline void sum_counts(int* counts, int n) {
  __shared__ int sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  int before = 0;
  for (int first = 0; first < n; first += kThreads) {
    const int i = first + thread, own = i < n ? counts[i] : 0;
    sums[thread] = own;
    for (int distance = 1; distance < kThreads; distance *= 2) {
      __syncthreads();
      const int more = thread >= distance ? sums[thread - distance] : 0;
      __syncthreads();
      sums[thread] += more;
    }
    __syncthreads();
    if (i < n) counts[i] = before + sums[thread] - own;
    before += sums[kThreads - 1];
    __syncthreads();
  }
}

/// One block for each image. Afterwards ends[c] is where the points of cell c end in `order`.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sort_points(Images images, int count, const T* points, int* all_ends, int* all_orders) {
  __shared__ int cells[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t image = blockIdx.x;
  const int cell_count = static_cast<int>((images.rows.size() + 1) * (images.columns.size() + 1));
  int* const ends = all_ends + image * cell_count;
  int* const order = all_orders + image * count;
  for (int c = thread; c < cell_count; c += kThreads) ends[c] = 0;
  __syncthreads();
  for (int i = thread; i < count; i += kThreads) {
    atomicAdd(&ends[cell_of(images, Point<T>(images, points, image, count, i))], 1);
  }
  __syncthreads();
  sum_counts(ends, cell_count);
  for (int first = 0; first < count; first += kThreads) {
    const int i = first + thread, size = count - first < kThreads ? count - first : kThreads;
    const int cell = i < count ? cell_of(images, Point<T>(images, points, image, count, i)) : -1;
    cells[thread] = cell;
    __syncthreads();
    int earlier = 0, later = 0;
    for (int other = 0; other < size; ++other) {
      earlier += cells[other] == cell && other < thread;
      later += cells[other] == cell && other > thread;
    }
    if (cell >= 0) order[ends[cell] + earlier] = i;
    __syncthreads();
    if (cell >= 0 && later == 0) ends[cell] += earlier + 1;
    __syncthreads();
  }
}

template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    sample_grad_image(Images to, int count, const Compute<S>* points, const int* all_ends, const int* all_orders,
                      const S* gy, S* gx) {
  using T = Compute<S>;
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= to.total) return;
  int64_t image = target;
  const int pack = to.packs.take(image), w = to.columns.take(image), h = to.rows.take(image);
  const int width = static_cast<int>(to.columns.size() + 1), height = static_cast<int>(to.rows.size() + 1);
  const int* const ends = all_ends + image * width * height;
  const int* const order = all_orders + image * count;
  Total<T, V> total;
  for (int k = kCorners - 1; k >= 0; --k) {
    // Pixel (h, w) is corner k of the cell.
    const int cell = (h + 1 - k / 2) * width + w + 1 - k % 2;
    for (int at = cell == 0 ? 0 : ends[cell - 1]; at < ends[cell]; ++at) {
      const int i = order[at];
      const Point<T> point(to, points, image, count, i);
      total.add(load_pack<V>(gy, (image * count + i) * to.packs.size() + pack), point.share(k));
    }
  }
  total.store(gx, target);
}

/// The points (N, 2, h, w) in the compute type of x, without gaps.
Array compute_points(const Array& x, const Array& points) {
  return points.astype(x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32).contiguous();
}

int64_t points_of_image(const Array& points) { return points.shape()[2] * points.shape()[3]; }

void sample_bilinear(In x, In points, Out y) {
  if (y->size() == 0) return;
  const Array from = channels_last_input(x), places = compute_points(x, points);
  const ChannelsLastOutput to(y);
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    const Images images(x->shape(), V);
    const int64_t total = y->size() / V;
    enqueue(Context::of(x), {dim3(blocks_for(total, kThreads)), dim3(kThreads)}, sample<S, V>, images, total,
            images.packs, Extent(points_of_image(points)), from.data<S>(), places.data<Compute<S>>(),
            to.template data<S>());
  });
  to.finish();
}

void sample_bilinear_grad(In x, In points, In gy, Out gx, Out gpoints) {
  if (gy->size() == 0 || x->size() == 0) {
    if (gx) gx->fill(0.0);
    if (gpoints) gpoints->fill(0.0);
    return;
  }
  Context& context = Context::of(x);
  const Array places = compute_points(x, points), g = channels_last_input(gy);
  const int64_t images = x->shape()[0], count = points_of_image(points);
  if (gx) {
    const ChannelsLastOutput to(gx);
    const auto cells = static_cast<size_t>((x->shape()[2] + 1) * (x->shape()[3] + 1));
    const auto n = static_cast<size_t>(images);
    const Scratch scratch(context, sizeof(int) * n * (cells + static_cast<size_t>(count)));
    int *const ends = scratch.data<int>(), *const order = ends + n * cells;
    visit_channel_packs({&g, &to.array()}, [&]<class S, int V>() {
      using T = Compute<S>;
      const Images target(x->shape(), V);
      enqueue(context, {dim3(static_cast<unsigned>(images)), dim3(kThreads)}, sort_points<T>, target,
              static_cast<int>(count), places.data<T>(), ends, order);
      enqueue(context, target.shape(), sample_grad_image<S, V>, target, static_cast<int>(count), places.data<T>(), ends,
              order, g.data<S>(), to.template data<S>());
    });
    to.finish();
  }
  if (gpoints) {
    const Array from = channels_last_input(x);
    const bool direct = gpoints->is_contiguous() && gpoints->dtype() == places.dtype();
    const Array result = direct ? *gpoints : empty(places.shape(), places.dtype(), places.device());
    const int64_t total = images * count;
    visit_floating(x->dtype(), [&]<class S>() {
      using T = Compute<S>;
      enqueue(context, {dim3(blocks_for(total, kThreads / kWarp)), dim3(kThreads)}, sample_grad_points<S>,
              Images(x->shape(), 1), total, Extent(count), from.data<S>(), places.data<T>(), g.data<S>(),
              result.data<T>());
    });
    if (!direct) gpoints->copy_from(result);
  }
}

}  // namespace

void register_sampling(Backend& backend) {
  backend.add<kernels::ResizeImages>(resize_images);
  backend.add<kernels::ResizeImagesGrad>(resize_images_grad);
  backend.add<kernels::SampleBilinear>(sample_bilinear);
  backend.add<kernels::SampleBilinearGrad>(sample_bilinear_grad);
}

}  // namespace kusari::cuda
