#pragma once

#include <initializer_list>

#include "kusari/cuda/kernels/any_numbers.cuh"
#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/plans/batch_normalization_grid.h"
#include "kusari/cuda/runtime/context.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/framework/kernels/channel_rows.h"
#include "kusari/framework/kernels/math.h"

// A thread keeps its pack, and with it what belongs to the channels in registers. What is made of all rows goes through
// one part for each chunk, which a second small kernel combines in float64.
namespace kusari::cuda::batch_norm {

/// Blocks of a multiprocessor, for 64 and 80 registers a thread: both have enough loads under way to fill the memory's
/// pipe (latency times bandwidth is some 25 KiB for each multiprocessor of an H200).
inline constexpr int kForwardBlocks = 4, kBackwardBlocks = 3;

inline LaunchShape shape_of(const Grid& grid) {
  return {dim3(static_cast<unsigned>(grid.groups), static_cast<unsigned>(grid.chunks)), dim3(kThreads)};
}

/// The place of the thread that makes it.
struct Track : Place {
  __device__ explicit Track(const Grid& grid) : Place(grid, blockIdx.x, blockIdx.y, threadIdx.x) {}

  /// body<kRows>(pack number of the first of kRows rows), from the last rows to the first: when they have just been
  /// read in order, the last are still in the cache.
  template <int kRows, class Body>
  __device__ __forceinline__ void backwards(const Body& body) const {
    int left = count;
    for (; left % kRows != 0; --left) body.template operator()<1>(first + (left - 1) * step);
    for (; left > 0; left -= kRows) body.template operator()<kRows>(first + (left - kRows) * step);
  }
};

/// What there is for each channel, in the compute type. Undefined arrays are null.
template <class T>
struct Channels {
  const T* gamma = nullptr;
  const T* beta = nullptr;
  const T* mean = nullptr;
  const T* inv_std = nullptr;
  const T* var = nullptr;  ///< instead of inv_std
  T eps{};
  const T* sums = nullptr;  ///< instead of mean and inv_std: the sums of the elements, then those of their squares
  T rows{};                 ///< in those sums
  int64_t count = 0;        ///< channels
};

/// What the sums of a channel say.
template <class T>
__device__ __forceinline__ void moments_of_sums(T sum, T square, T rows, T& mean, T& var) {
  mean = sum / rows;
  var = square / rows - mean * mean;
  if (var < T{0}) var = T{0};  // a NaN stays
}

/// The bits of a pack: a mask has a byte for each kPackSize<S> elements of a row.
template <class S, int V>
__device__ __forceinline__ unsigned bits_of_pack(const uint8_t* bits, int64_t pack) {
  if constexpr (V == kPackSize<S>) return bits[pack];
  return static_cast<unsigned>(bits[pack / kPackSize<S>]) >> (pack % kPackSize<S>);
}

/// The numbers of pack `pack`, in as few accesses as there can be; 0 if the array is null.
template <int V, class T>
__device__ __forceinline__ void load_numbers(const T* from, int pack, T (&to)[V]) {
  constexpr int kWidth = V < kPackSize<T> ? V : kPackSize<T>;
#pragma unroll
  for (int i = 0; i < V / kWidth; ++i) {
    Pack<T, kWidth> few{};
    if (from != nullptr) few = load_pack<kWidth>(from, static_cast<int64_t>(pack) * (V / kWidth) + i);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) to[i * kWidth + j] = few.at[j];
  }
}

template <int V, class T>
__device__ __forceinline__ void store_numbers(T* to, int pack, const T (&from)[V]) {
  constexpr int kWidth = V < kPackSize<T> ? V : kPackSize<T>;
#pragma unroll
  for (int i = 0; i < V / kWidth; ++i) {
    Pack<T, kWidth> few;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) few.at[j] = from[i * kWidth + j];
    store_pack(to, static_cast<int64_t>(pack) * (V / kWidth) + i, few);
  }
}

/// The numbers of a thread's channels.
template <class T, int V>
struct Affine {
  T mean[V] = {}, scale[V] = {}, shift[V] = {}, inverse[V] = {};

  __device__ __forceinline__ Affine(const Channels<T>& channels, int pack, bool is_inside) {
    if (!is_inside) return;
    if (channels.sums != nullptr) {
      load_numbers<V>(channels.sums, pack, mean);
      load_numbers<V>(channels.sums + channels.count, pack, inverse);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        T var;
        moments_of_sums(mean[v], inverse[v], channels.rows, mean[v], var);
        inverse[v] = T{1} / km::sqrt(var + channels.eps);
      }
    } else {
      load_numbers<V>(channels.mean, pack, mean);
      load_numbers<V>(channels.var == nullptr ? channels.inv_std : channels.var, pack, inverse);
    }
    load_numbers<V>(channels.gamma, pack, scale);
    load_numbers<V>(channels.beta, pack, shift);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (channels.var != nullptr) inverse[v] = T{1} / km::sqrt(inverse[v] + channels.eps);
      scale[v] *= inverse[v];
    }
  }
  /// The one formula of the result, so that a gradient sees the sign that the forward cut.
  __device__ __forceinline__ T centred(T x, int v) const { return x - mean[v]; }
  __device__ __forceinline__ T of_centred(T d, int v) const { return d * scale[v] + shift[v]; }
};

/// Two numbers of each channel of each thread.
template <class T, int V>
struct PairsOfBlock {
  T first[V][kThreads], second[V][kThreads];

  /// Calls body(channel, first, second) for the channels of a block, whose numbers its lanes 0 have left here. Each has
  /// a thread of its own. All threads call it; afterwards the block sees what the bodies wrote.
  template <class Body>
  __device__ __forceinline__ void for_each_channel(const Grid& grid, const Body& body) const {
    const int columns = 1 << grid.log_columns, thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread < columns * V) {
      const int column = thread / V, v = thread % V, pack = static_cast<int>(blockIdx.x) * columns + column;
      if (pack < grid.packs) body(static_cast<int64_t>(pack) * V + v, first[v][column], second[v][column]);
    }
    __syncthreads();
  }
};

/// The sums of two numbers over the parts of all chunks, for kCombined channels of a block; valid in the first
/// kCombined threads. term(chunk, channel, sums) adds one part.
inline constexpr int kCombined = 8, kCombineThreads = 512;

struct Sums {
  double first = 0, second = 0;
};

template <class Term>
__device__ __forceinline__ Sums combine_parts(int chunks, int channels, const Term& term) {
  __shared__ double shared[kCombineThreads / kWarp][2][kCombined];
  const int thread = static_cast<int>(threadIdx.x), channel = thread % kCombined;
  const int c = static_cast<int>(blockIdx.x) * kCombined + channel;
  Sums sums;
  if (c < channels) {
#pragma unroll 4
    for (int i = thread / kCombined; i < chunks; i += kCombineThreads / kCombined) term(i, c, sums);
  }
#pragma unroll
  for (int distance = kCombined; distance < kWarp; distance *= 2) {
    sums.first += shuffle_xor(sums.first, distance);
    sums.second += shuffle_xor(sums.second, distance);
  }
  if (thread % kWarp < kCombined) {
    shared[thread / kWarp][0][channel] = sums.first;
    shared[thread / kWarp][1][channel] = sums.second;
  }
  __syncthreads();
  sums = Sums{};
  if (thread < kCombined) {
    for (int warp = 0; warp < kCombineThreads / kWarp; ++warp) {
      sums.first += shared[warp][0][channel];
      sums.second += shared[warp][1][channel];
    }
  }
  return sums;
}

inline LaunchShape combine_shape(int64_t channels) {
  return {dim3(blocks_for(channels, kCombined)), dim3(kCombineThreads)};
}

/// Numbers of channels that a kernel reads or writes: themselves, or a copy without gaps that finish() brings back.
class ChannelResult {
 public:
  explicit ChannelResult(const Array& target) : target_{target} {
    if (target.is_defined()) numbers_ = target.contiguous();
  }
  AnyNumbers numbers() const { return AnyNumbers(numbers_); }
  void finish() const {
    if (!numbers_.is_same(target_)) target_.copy_from(numbers_);
  }

 private:
  const Array& target_;
  Array numbers_;
};

/// The types in which a call computes.
struct Types {
  Dtype compute, storage;
  Types(const Array& x, const Array& gamma)
      : compute{x.dtype() == Dtype::float64 || gamma.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32},
        storage{compute == Dtype::float64 ? compute : x.dtype()} {}
};

/// Numbers of the channels in the compute type.
inline Array channel_numbers(const Array& x, Dtype dtype) { return x.is_defined() ? x.astype(dtype).contiguous() : x; }

template <class T>
const T* data_or_null(const Array& x) {
  return x.is_defined() ? x.data<T>() : nullptr;
}
inline const void* data_or_null(const Array& x) { return x.is_defined() ? x.raw_data() : nullptr; }

/// Calls f<S, V>() with the element type and the channels of a pack: whole packs if all addresses allow them.
template <class F>
void visit_packs(Dtype storage, int64_t channels, std::initializer_list<const void*> addresses, F&& f) {
  visit_floating(storage, [&]<class S>() {
    bool whole = channels % kPackSize<S> == 0;
    for (const void* address : addresses) whole = whole && is_pack_aligned(address);
    if (whole) {
      f.template operator()<S, kPackSize<S>>();
    } else {
      f.template operator()<S, 1>();
    }
  });
}

}  // namespace kusari::cuda::batch_norm
