#include "kusari/cuda/kernels/pooling.cuh"

#include <algorithm>

#include "kusari/cuda/kernels/pooling_average.h"
#include "kusari/cuda/kernels/pooling_blocks.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cuda {
namespace {

using namespace pooling;
using kernels::Pooling;

/// The largest element and its place: the first of equal ones, and the first NaN for good.
template <class S, class Index, int V>
struct TakeLargest {
  static constexpr bool kUnrolled = sizeof(Index) == 1;
  using T = Compute<S>;
  using Loaded = Pack<S, V>;
  struct State {
    T best[V];
    int at[V];
    bool has_one;
  };
  const S* x;
  S* y;
  Index* index;  ///< or null

  __device__ __forceinline__ Loaded load(int64_t pack) const { return load_pack<V>(x, pack); }
  __device__ __forceinline__ void visit(State& state, const Loaded& loaded, const Neighbour& neighbour) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const T value = widen(loaded.at[v]);
      const bool better = !state.has_one || (!(value <= state.best[v]) && state.best[v] == state.best[v]);
      state.best[v] = better ? value : state.best[v];
      state.at[v] = better ? neighbour.number : state.at[v];
    }
    state.has_one = true;
  }
  __device__ __forceinline__ void finish_row(State&) const {}
  __device__ __forceinline__ void finish(const State& state, int64_t pack) const {
    Pack<S, V> values;
    Pack<Index, V> places;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      values.at[v] = narrow<S>(state.has_one ? state.best[v] : km::lowest<T>());
      places.at[v] = static_cast<Index>(state.at[v]);
    }
    store_pack(y, pack, values);
    if (index != nullptr) store_pack(index, pack, places);
  }
};

/// The sum of gy over the windows whose index says this place.
template <class S, class Index, int V>
struct GatherLargest {
  static constexpr bool kUnrolled = sizeof(Index) == 1;
  using T = Compute<S>;
  struct Loaded {
    Pack<S, V> gradient;
    Pack<Index, V> place;
  };
  struct State {
    T sum[V];
  };
  const S* gy;
  const Index* index;
  S* gx;

  __device__ __forceinline__ Loaded load(int64_t pack) const {
    return {load_pack<V>(gy, pack), load_pack<V>(index, pack)};
  }
  __device__ __forceinline__ void visit(State& state, const Loaded& loaded, const Neighbour& neighbour) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (static_cast<int>(loaded.place.at[v]) == neighbour.number) state.sum[v] += widen(loaded.gradient.at[v]);
    }
  }
  __device__ __forceinline__ void finish_row(State&) const {}
  __device__ __forceinline__ void finish(const State& state, int64_t pack) const {
    Pack<S, V> values;
#pragma unroll
    for (int v = 0; v < V; ++v) values.at[v] = narrow<S>(state.sum[v]);
    store_pack(gx, pack, values);
  }
};

template <class F>
void visit_index(Dtype dtype, F&& f) {
  if (dtype == Dtype::uint8) {
    f.template operator()<uint8_t>();
  } else {
    f.template operator()<int32_t>();
  }
}

/// Calls f<S, Index, V>(): packs of V channels if the arrays allow them.
template <class F>
void visit_types(const Array& x, const Array& y, const Array& index, Dtype index_dtype, F&& f) {
  visit_floating(x.dtype(), [&]<class S>() {
    visit_index(index_dtype, [&]<class Index>() {
      constexpr int kPack = std::min(kPackSize<S>, kPackSize<Index>);
      const bool whole = x.shape()[1] % kPack == 0 && is_pack_aligned(x.raw_data()) && is_pack_aligned(y.raw_data()) &&
                         (!index.is_defined() || is_pack_aligned(index.raw_data()));
      if (whole) {
        f.template operator()<S, Index, kPack>();
      } else {
        f.template operator()<S, Index, 1>();
      }
    });
  });
}

void max_pooling_forward(Params<Pooling> pooling, In x, Out y, Out index) {
  const Array from = channels_last_input(x);
  const ChannelsLastOutput to(y), places(index);
  visit_types(
      from, to.array(), places.array(), index ? index->dtype() : Dtype::uint8, [&]<class S, class Index, int V>() {
        run<false, V>(Context::of(x), Geometry(*pooling, x->shape(), y->shape(), V, false),
                      TakeLargest<S, Index, V>{from.data<S>(), to.template data<S>(), places.template data<Index>()});
      });
  to.finish();
  places.finish();
}

void max_pooling_grad(Params<Pooling> pooling, In gy, In index, Out gx) {
  const Array from = channels_last_input(gy), places = channels_last_input(index);
  const ChannelsLastOutput to(gx);
  visit_types(from, to.array(), places, index->dtype(), [&]<class S, class Index, int V>() {
    const Geometry geometry(*pooling, gx->shape(), gy->shape(), V, true);
    if constexpr (V > 1 && sizeof(Index) == 1) {
      if (run_blocks<S, V>(Context::of(gy), geometry, pooling->ndim, gx->shape()[0], from.data<S>(),
                           places.data<Index>(), to.template data<S>())) {
        return;
      }
    }
    run<true, V>(Context::of(gy), geometry,
                 GatherLargest<S, Index, V>{from.data<S>(), places.data<Index>(), to.template data<S>()});
  });
  to.finish();
}

/// y = the element of the window at the place that the index says, 0 where that is padding.
template <class S, class Index>
__global__ void __launch_bounds__(kThreads) pick(Geometry g, const S* x, const Index* index, S* y) {
  const int64_t target = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (target >= g.total) return;
  int64_t rest = target;
  const int channel = g.packs.take(rest), w = g.columns.targets.take(rest), h = g.rows.targets.take(rest);
  int number = static_cast<int>(index[target]);
  const int column = g.columns.first<false>(w) + number % g.columns.ksize;
  number /= g.columns.ksize;
  const int row = g.rows.first<false>(h) + number % g.rows.ksize;
  number /= g.rows.ksize;
  bool exists = g.columns.has<false>(column, 0) && g.rows.has<false>(row, 0);
  int64_t pixel = 0, step = 1;
  for (int i = g.outer_axes - 1; i >= 0; --i) {
    const Axis& axis = g.outer[i];
    const int at = axis.first<false>(axis.targets.take(rest)) + number % axis.ksize;
    number /= axis.ksize;
    exists = exists && axis.has<false>(at, 0);
    pixel += at * step;
    step *= axis.sources;
  }
  pixel = ((rest * step + pixel) * g.rows.sources + row) * g.columns.sources + column;
  y[target] = exists ? x[pixel * g.packs.size() + channel] : narrow<S>(0.0f);
}

void max_pooling_pick(Params<Pooling> pooling, In x, In index, Out y) {
  const Array from = channels_last_input(x), places = channels_last_input(index);
  const ChannelsLastOutput to(y);
  const Geometry geometry(*pooling, x->shape(), y->shape(), 1, false);
  if (geometry.total == 0) return;
  visit_floating(x->dtype(), [&]<class S>() {
    visit_index(index->dtype(), [&]<class Index>() {
      enqueue(Context::of(x), shape_of(geometry), pick<S, Index>, geometry, from.data<S>(), places.data<Index>(),
              to.template data<S>());
    });
  });
  to.finish();
}

}  // namespace

void register_pooling(Backend& backend) {
  backend.add<kernels::MaxPoolingForward>(max_pooling_forward);
  backend.add<kernels::MaxPoolingGrad>(max_pooling_grad);
  backend.add<kernels::MaxPoolingPick>(max_pooling_pick);
  backend.add<kernels::AveragePoolingForward>(average_pooling_forward);
  backend.add<kernels::AveragePoolingGrad>(average_pooling_grad);
}

}  // namespace kusari::cuda
