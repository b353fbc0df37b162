#include "kusari/cuda/kernels/pooling_average.h"

#include "kusari/cuda/kernels/pooling.cuh"

namespace kusari::cuda {
namespace {

using namespace pooling;
using kernels::AveragePooling;
using kernels::PoolingDivisor;

/// The sum over the neighbours, those of a row first. Forward it is divided by `divisor` or the number of places inside
/// x; backward each term is.
template <class S, int V, bool kBackward>
struct TakeSum {
  static constexpr bool kUnrolled = true;
  using T = Compute<S>;
  using Loaded = Pack<S, V>;
  struct State {
    T total[V], row[V];
    int count;
  };
  const S* x;
  S* y;
  T divisor;
  bool inside;

  __device__ __forceinline__ Loaded load(int64_t pack) const { return load_pack<V>(x, pack); }
  __device__ __forceinline__ void visit(State& state, const Loaded& loaded, const Neighbour& neighbour) const {
    const T share = kBackward && inside ? T{1} / static_cast<T>(neighbour.inside) : T{1};
#pragma unroll
    for (int v = 0; v < V; ++v) state.row[v] += kBackward ? widen(loaded.at[v]) * share : widen(loaded.at[v]);
    ++state.count;
  }
  __device__ __forceinline__ void finish_row(State& state) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      state.total[v] += state.row[v];
      state.row[v] = T{};
    }
  }
  __device__ __forceinline__ void finish(const State& state, int64_t pack) const {
    const T by = !kBackward && inside ? static_cast<T>(state.count) : divisor;
    Pack<S, V> values;
#pragma unroll
    for (int v = 0; v < V; ++v) values.at[v] = narrow<S>((state.total[v] + state.row[v]) / by);
    store_pack(y, pack, values);
  }
};

/// y = the sum over all pixels of an image / divisor: blocks of (threads along a pixel's packs, pixels).
template <class S, int V>
__global__ void __launch_bounds__(kThreads)
    average_images(int64_t pixels, int packs, int log_columns, const S* x, S* y, Compute<S> divisor) {
  using T = Compute<S>;
  constexpr int kAtOnce = 4;
  __shared__ T shared[V][kThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread >> log_columns, lanes = kThreads >> log_columns;
  const int pack = static_cast<int>(blockIdx.y) * (1 << log_columns) + (thread & ((1 << log_columns) - 1));
  const int64_t image = blockIdx.x, first = image * pixels * packs + pack;
  T total[V] = {};
  if (pack < packs) {
    for (int64_t begin = lane; begin < pixels; begin += static_cast<int64_t>(lanes) * kAtOnce) {
      Pack<S, V> few[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t pixel = begin + static_cast<int64_t>(u) * lanes;
        if (pixel < pixels) few[u] = load_pack<V>(x, first + pixel * packs);
      }
      T sum[V] = {};
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (begin + static_cast<int64_t>(u) * lanes >= pixels) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += widen(few[u].at[v]);
      }
#pragma unroll
      for (int v = 0; v < V; ++v) total[v] += sum[v];
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) shared[v][thread] = total[v];
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) shared[v][thread] = total[v] += shared[v][thread + (half << log_columns)];
  }
  if (lane > 0 || pack >= packs) return;
  Pack<S, V> values;
#pragma unroll
  for (int v = 0; v < V; ++v) values.at[v] = narrow<S>(total[v] / divisor);
  store_pack(y, image * packs + pack, values);
}

/// Whether the only window is x.
bool is_global(const kernels::Pooling& pooling, const Shape& x, const Shape& y) {
  for (int i = 0; i < pooling.ndim; ++i) {
    if (y[2 + i] != 1 || pooling.pad[i] != 0 || pooling.ksize[i] != x[2 + i]) return false;
  }
  return true;
}

double constant_divisor(const AveragePooling& average) {
  return average.divisor == PoolingDivisor::window ? static_cast<double>(window_size(average.pooling)) : 1;
}

}  // namespace

void average_pooling_forward(Params<AveragePooling> average, In x, Out y) {
  const Array from = channels_last_input(x);
  const ChannelsLastOutput to(y);
  const kernels::Pooling& pooling = average->pooling;
  const bool is_inside = average->divisor == PoolingDivisor::inside;
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    using T = Compute<S>;
    Context& context = Context::of(x);
    const Geometry geometry(pooling, x->shape(), y->shape(), V, false);
    const int64_t pixels = window_size(pooling), images = x->shape()[0];
    if (geometry.total > 0 && is_global(pooling, x->shape(), y->shape())) {
      const int packs = static_cast<int>(geometry.packs.size());
      int log_columns = 0;
      while (log_columns < 5 && (1 << log_columns) < packs) ++log_columns;
      const LaunchShape shape{dim3(static_cast<unsigned>(images), blocks_for(packs, 1 << log_columns)), dim3(kThreads)};
      const double divisor = is_inside ? static_cast<double>(pixels) : constant_divisor(*average);
      return enqueue(context, shape, average_images<S, V>, pixels, packs, log_columns, from.data<S>(),
                     to.template data<S>(), static_cast<T>(divisor));
    }
    run<false, V>(context, geometry,
                  TakeSum<S, V, false>{from.data<S>(), to.template data<S>(),
                                       static_cast<T>(constant_divisor(*average)), is_inside});
  });
  to.finish();
}

void average_pooling_grad(Params<AveragePooling> average, In gy, Out gx) {
  const Array from = channels_last_input(gy);
  const ChannelsLastOutput to(gx);
  visit_channel_packs({&from, &to.array()}, [&]<class S, int V>() {
    using T = Compute<S>;
    run<true, V>(Context::of(gy), Geometry(average->pooling, gx->shape(), gy->shape(), V, true),
                 TakeSum<S, V, true>{from.data<S>(), to.template data<S>(), static_cast<T>(constant_divisor(*average)),
                                     average->divisor == PoolingDivisor::inside});
  });
  to.finish();
}

}  // namespace kusari::cuda
