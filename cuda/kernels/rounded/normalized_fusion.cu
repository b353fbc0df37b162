#include "kusari/framework/kernels/normalized_fusion.h"

#include <initializer_list>
#include <string>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::cuda {
namespace {

using kernels::FusionShares;
using kernels::kMostFusedMaps;

constexpr int kFusionThreads = 256;
/// Packs of each map that a thread of the gradient takes, where there are so many, and most of its blocks: their sums
/// are one block's work.
constexpr int64_t kFusionPacks = 4;
constexpr int64_t kMostFusionBlocks = 1024;

/// The maps of a call; null beyond `count`. gx[k] null: nobody wants it.
template <class T>
struct FusionMaps {
  const T* x[kMostFusedMaps];
  T* gx[kMostFusedMaps];
  int count;
  int64_t size;
};

/// A pack of each map, and the weighted sum of its elements.
template <class T, int N>
struct FusionPacks {
  using C = Compute<T>;
  Pack<T, N> x[kMostFusedMaps];

  __device__ __forceinline__ FusionPacks(const FusionMaps<T>& maps, int64_t pack) {
#pragma unroll
    for (int k = 0; k < kMostFusedMaps; ++k) {
      if (k < maps.count) x[k] = load_pack<N>(maps.x[k], pack);
    }
  }
  __device__ __forceinline__ C sum(const FusionMaps<T>& maps, const FusionShares<C>& shares, int i) const {
    C sum = 0;
#pragma unroll
    for (int k = 0; k < kMostFusedMaps; ++k) {
      if (k < maps.count) sum += shares.share[k] * widen(x[k].at[i]);
    }
    return sum;
  }
};

template <int N, class T>
__device__ __forceinline__ void fuse_pack(const FusionMaps<T>& maps, const FusionShares<Compute<T>>& shares, T* y,
                                          int64_t pack) {
  const FusionPacks<T, N> packs(maps, pack);
  Pack<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.at[i] = narrow<T>(kernels::Silu{}(packs.sum(maps, shares, i)));
  store_pack<N>(y, pack, result);
}

template <class T, int N>
__global__ __launch_bounds__(kFusionThreads) void normalized_fusion_kernel(FusionMaps<T> maps, const Compute<T>* w,
                                                                           double eps, T* y) {
  const auto shares = FusionShares<Compute<T>>::of(w, maps.count, eps);
  const int64_t packs = maps.size / N, pack = int64_t{blockIdx.x} * kFusionThreads + threadIdx.x;
  if (pack < packs) fuse_pack<N>(maps, shares, y, pack);
  // What does not fill a pack.
  const int64_t i = packs * N + threadIdx.x;
  if (N > 1 && blockIdx.x == 0 && i < maps.size) fuse_pack<1>(maps, shares, y, i);
}

template <int N, class T>
__device__ __forceinline__ void fuse_pack_grad(const FusionMaps<T>& maps, const FusionShares<Compute<T>>& shares,
                                               const T* gy, int64_t pack, Compute<T> (&sum)[kMostFusedMaps]) {
  using C = Compute<T>;
  const FusionPacks<T, N> packs(maps, pack);
  const Pack<T, N> given = load_pack<N>(gy, pack);
  C g[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    g[i] = kernels::SiluGrad{}(packs.sum(maps, shares, i), static_cast<C>(widen(given.at[i])));
  }
#pragma unroll
  for (int k = 0; k < kMostFusedMaps; ++k) {
    if (k >= maps.count) continue;
    Pack<T, N> result;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sum[k] += g[i] * widen(packs.x[k].at[i]);
      result.at[i] = narrow<T>(shares.share[k] * g[i]);
    }
    if (maps.gx[k] != nullptr) store_pack<N>(maps.gx[k], pack, result);
  }
}

/// The gradients of the maps, and those of the shares by block.
template <class T, int N>
__global__ __launch_bounds__(kFusionThreads) void normalized_fusion_grad_kernel(FusionMaps<T> maps, const Compute<T>* w,
                                                                                double eps, const T* gy,
                                                                                Compute<T>* partial) {
  using C = Compute<T>;
  const auto shares = FusionShares<C>::of(w, maps.count, eps);
  const int64_t packs = maps.size / N;
  C sum[kMostFusedMaps] = {};
  for (int64_t pack = int64_t{blockIdx.x} * kFusionThreads + threadIdx.x; pack < packs;
       pack += int64_t{gridDim.x} * kFusionThreads) {
    fuse_pack_grad<N>(maps, shares, gy, pack, sum);
  }
  const int64_t i = packs * N + threadIdx.x;
  if (N > 1 && blockIdx.x == 0 && i < maps.size) fuse_pack_grad<1>(maps, shares, gy, i, sum);
#pragma unroll
  for (int k = 0; k < kMostFusedMaps; ++k) {
    if (k >= maps.count) continue;
    sum[k] = block_reduce(sum[k], C(0), Plus<C>());
    if (threadIdx.x == 0) partial[blockIdx.x * kMostFusedMaps + k] = sum[k];
  }
}

/// gw from the sums of `blocks` blocks.
template <class C>
__global__ __launch_bounds__(kFusionThreads) void fusion_weights_kernel(const C* partial, int blocks, const C* w,
                                                                        int maps, double eps, C* gw) {
  C gshare[kMostFusedMaps] = {};
#pragma unroll
  for (int k = 0; k < kMostFusedMaps; ++k) {
    if (k >= maps) continue;
    C sum = 0;
    for (int block = static_cast<int>(threadIdx.x); block < blocks; block += kFusionThreads) {
      sum += partial[block * kMostFusedMaps + k];
    }
    gshare[k] = block_reduce(sum, C(0), Plus<C>());
  }
  if (threadIdx.x == 0) FusionShares<C>::of(w, maps, eps).weight_gradients(w, maps, gshare, gw);
}

/// Calls run.template operator()<T, N>(maps) with the maps' type and the elements of a pack: one where an array is not
/// aligned for more.
template <class Run>
void visit_maps(const char* call, std::initializer_list<const Array*> x, std::initializer_list<const Array*> gx,
                const Array& other, const Run& run) {
  const Array& first = **x.begin();
  const bool is_floating = visit_floating(first.dtype(), [&]<class T>() {
    FusionMaps<T> maps{{}, {}, 0, first.size()};
    bool is_aligned = is_pack_aligned(other.raw_data());
    for (const Array* const map : x) {
      if (!map->is_defined()) continue;
      maps.x[maps.count++] = map->data<T>();
      is_aligned = is_aligned && is_pack_aligned(map->raw_data());
    }
    int k = 0;
    for (const Array* const map : gx) {
      maps.gx[k++] = map->is_defined() ? map->data<T>() : nullptr;
      is_aligned = is_aligned && is_pack_aligned(maps.gx[k - 1]);
    }
    if (is_aligned) return run.template operator()<T, kPackSize<T>>(maps);
    run.template operator()<T, 1>(maps);
  });
  if (!is_floating) {
    throw TypeError(std::string(call) + ": x0 has dtype " + name(first.dtype()) + " but must be floating");
  }
}

void normalized_fusion_silu(Params<double> eps, In x0, In x1, In x2, In w, Out y) {
  if (y->size() == 0) return;
  visit_maps("normalized_fusion_silu", {&*x0, &*x1, &*x2}, {}, y, [&]<class T, int N>(const FusionMaps<T>& maps) {
    enqueue(Context::of(y), {blocks_for(maps.size / N, kFusionThreads), kFusionThreads}, normalized_fusion_kernel<T, N>,
            maps, w->data<Compute<T>>(), *eps, y->data<T>());
  });
}

void normalized_fusion_silu_grad(Params<double> eps, In x0, In x1, In x2, In w, In gy, Out gx0, Out gx1, Out gx2,
                                 Out gw) {
  Context& context = Context::of(w);
  visit_maps("normalized_fusion_silu_grad", {&*x0, &*x1, &*x2}, {&*gx0, &*gx1, &*gx2}, gy,
             [&]<class T, int N>(const FusionMaps<T>& maps) {
               using C = Compute<T>;
               const unsigned blocks = blocks_for(maps.size / N, kFusionThreads * kFusionPacks, kMostFusionBlocks);
               const Scratch partial(context, size_t{blocks} * kMostFusedMaps * sizeof(C));
               enqueue(context, {blocks, kFusionThreads}, normalized_fusion_grad_kernel<T, N>, maps, w->data<C>(), *eps,
                       gy->data<T>(), partial.data<C>());
               if (!gw) return;
               enqueue(context, {1, kFusionThreads}, fusion_weights_kernel<C>, partial.data<C>(),
                       static_cast<int>(blocks), w->data<C>(), maps.count, *eps, gw->data<C>());
             });
}

}  // namespace

void register_normalized_fusion(Backend& backend) {
  backend.add<kernels::NormalizedFusionSilu>(normalized_fusion_silu);
  backend.add<kernels::NormalizedFusionSiluGrad>(normalized_fusion_silu_grad);
}

}  // namespace kusari::cuda
