#include "kusari/cuda/kernels/batch_normalization.cuh"

#include <cmath>

#include "kusari/cuda/kernels/batch_normalization_backward.h"
#include "kusari/cuda/kernels/channel_sums.h"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

using namespace batch_norm;
using Options = kernels::BatchNormalization;

/// Mean and squared deviations of `count` numbers.
template <class T>
struct Moments {
  T mean, deviations;
};

/// Those of two sets together (Chan, Golub and LeVeque 1979).
template <class T>
__device__ __forceinline__ Moments<T> merged(const Moments<T>& a, int count_a, const Moments<T>& b, int count_b) {
  if (count_b == 0) return a;
  if (count_a == 0) return b;
  const T share = static_cast<T>(count_b) / static_cast<T>(count_a + count_b), delta = b.mean - a.mean;
  return {a.mean + delta * share, a.deviations + b.deviations + delta * delta * static_cast<T>(count_a) * share};
}

/// The moments of a block's rows, in lane 0 of each pack and in `shared`. A few rows at a time are summed around their
/// own mean, so that nothing cancels however far from 0 the numbers are.
template <class S, int V, class T>
__device__ __forceinline__ void take_block_moments(const Grid& grid, const Track& track, const S* x,
                                                   PairsOfBlock<T, V>& shared, Moments<T> (&own)[V]) {
  T(&mean)[V][kThreads] = shared.first, (&deviations)[V][kThreads] = shared.second;
  __shared__ int counts[kThreads];
  int k = 0;
  for (int groups = 0; k + kRowsAtOnce <= track.count; k += kRowsAtOnce, ++groups) {
    Pack<S, V> packs[kRowsAtOnce];
#pragma unroll
    for (int u = 0; u < kRowsAtOnce; ++u) packs[u] = load_pack<V>(x, track.first + (k + u) * track.step);
    const T share = T{1} / static_cast<T>(groups + 1), weight = static_cast<T>(k) * share;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      T few[kRowsAtOnce], sum{}, square{};
#pragma unroll
      for (int u = 0; u < kRowsAtOnce; ++u) sum += few[u] = widen(packs[u].at[v]);
      const T middle = sum * (T{1} / kRowsAtOnce);
#pragma unroll
      for (int u = 0; u < kRowsAtOnce; ++u) square += (few[u] - middle) * (few[u] - middle);
      const T delta = middle - own[v].mean;
      own[v].mean += delta * share;
      own[v].deviations += square + delta * delta * weight;
    }
  }
  for (; k < track.count; ++k) {
    const Pack<S, V> pack = load_pack<V>(x, track.first + k * track.step);
#pragma unroll
    for (int v = 0; v < V; ++v) own[v] = merged(own[v], k, {widen(pack.at[v]), T{}}, 1);
  }

  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    mean[v][thread] = own[v].mean;
    deviations[v][thread] = own[v].deviations;
  }
  counts[thread] = track.count;
  for (int half = track.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (track.lane >= half) continue;
    const int other = thread + (half << grid.log_columns);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      own[v] = merged(own[v], counts[thread], {mean[v][other], deviations[v][other]}, counts[other]);
      mean[v][thread] = own[v].mean;
      deviations[v][thread] = own[v].deviations;
    }
    counts[thread] += counts[other];
  }
}

/// part[chunk] = {means, squared deviations} of the chunk's rows.
template <class S, int V>
__global__ void __launch_bounds__(kThreads, kForwardBlocks) take_moments(Grid grid, const S* x, Compute<S>* parts) {
  using T = Compute<S>;
  const Track track(grid);
  __shared__ PairsOfBlock<T, V> shared;
  Moments<T> own[V] = {};
  take_block_moments(grid, track, x, shared, own);
  if (track.lane > 0 || !track.is_inside(grid)) return;
  const int64_t channels = static_cast<int64_t>(grid.packs) * V;
  T* const part = parts + blockIdx.y * 2 * channels;
  T means[V], squares[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    means[v] = own[v].mean;
    squares[v] = own[v].deviations;
  }
  store_numbers(part, track.pack, means);
  store_numbers(part + channels, track.pack, squares);
}

struct Running {
  AnyNumbers mean, var;
  double decay;
};

/// What comes of the moments of a channel.
template <class T>
__device__ __forceinline__ void finish_moments(int64_t c, double middle, double exact, int64_t count, double eps,
                                               const Running& running, T* mean, T* inv_std) {
  const double rows = static_cast<double>(count), deviations = exact < 0 ? 0 : exact;  // a NaN stays
  mean[c] = static_cast<T>(middle);
  inv_std[c] = static_cast<T>(1 / km::sqrt(deviations / rows + eps));
  if (!running.mean.is_defined()) return;
  running.mean.set(c, running.decay * running.mean.get(c) + (1 - running.decay) * middle);
  running.var.set(c,
                  running.decay * running.var.get(c) + (1 - running.decay) * (deviations / (rows > 2 ? rows - 1 : 1)));
}

/// Calls finish(channel, mean, squared deviations) with those of all rows.
template <class T, class Finish>
__device__ __forceinline__ void combine(const Grid& grid, int channels, const T* parts, const Finish& finish) {
  // Relative to the mean of one part: what is between the parts does not cancel.
  const auto add = [&](int chunk, int c, Sums& sums) {
    const T* const part = parts + static_cast<int64_t>(chunk) * 2 * channels + c;
    const double count = static_cast<double>(chunk + 1 < grid.chunks ? grid.chunk : grid.rows - chunk * grid.chunk);
    const double between = static_cast<double>(part[0]) - static_cast<double>(parts[c]);
    sums.first += count * between;
    sums.second += static_cast<double>(part[channels]) + count * between * between;
  };
  const Sums sums = combine_parts(grid.chunks, channels, add);
  const int c = static_cast<int>(blockIdx.x) * kCombined + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kCombined || c >= channels) return;
  const double offset = sums.first / static_cast<double>(grid.rows);
  finish(c, static_cast<double>(parts[c]) + offset, sums.second - sums.first * offset);
}

/// The moments of all rows, and the running ones.
template <class T>
__global__ void __launch_bounds__(kCombineThreads)
    combine_moments(Grid grid, int channels, const T* parts, double eps, Running running, T* mean, T* inv_std) {
  combine(grid, channels, parts, [&](int64_t c, double middle, double deviations) {
    finish_moments(c, middle, deviations, grid.rows, eps, running, mean, inv_std);
  });
}

/// The sums of all rows and of their squares.
template <class T>
__global__ void __launch_bounds__(kCombineThreads)
    combine_to_sums(Grid grid, int channels, const T* parts, float* sums) {
  combine(grid, channels, parts, [&](int64_t c, double middle, double deviations) {
    const double rows = static_cast<double>(grid.rows);
    sums[c] = static_cast<float>(rows * middle);
    sums[channels + c] = static_cast<float>(deviations + rows * middle * middle);
  });
}

/// Which elements of a pack are above 0, a bit each.
template <class S, int V>
__device__ __forceinline__ unsigned positive_bits(const Pack<S, V>& pack) {
  unsigned bits = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) bits |= static_cast<unsigned>(widen(pack.at[v]) > Compute<S>{0}) << v;
  return bits;
}

/// y = (x - mean) scale + beta [+ residual] [cut at 0]. mask, if not null, gets the bits of whole packs.
template <bool kResidual, class S, class T, int V>
__device__ __forceinline__ void normalize_rows(const Track& track, const Affine<T, V>& affine, const S* x,
                                               const S* residual, bool relu, S* y, uint8_t* mask) {
  track.backwards<kResidual ? kRowsAtOnce / 2 : kRowsAtOnce>([&]<int kRows>(int64_t at) {
    Pack<S, V> in[kRows];
    [[maybe_unused]] Pack<S, V> others[kResidual ? kRows : 1];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      in[u] = load_pack_once<V>(x, at + u * track.step);
      if constexpr (kResidual) others[u] = load_pack_once<V>(residual, at + u * track.step);
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      Pack<S, V> out;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        T value = affine.of_centred(affine.centred(widen(in[u].at[v]), v), v);
        if constexpr (kResidual) value += widen(others[u].at[v]);
        out.at[v] = narrow<S>(relu && value < T{0} ? T{0} : value);  // NaN stays
      }
      store_pack(y, at + u * track.step, out);
      if constexpr (kResidual) {
        if (mask != nullptr) mask[at + u * track.step] = static_cast<uint8_t>(positive_bits(out));
      }
    }
  });
}

/// The bits of y for where its packs could not be written whole; `count` bytes.
template <class S>
__global__ void __launch_bounds__(kThreads) take_mask(int64_t count, const S* y, uint8_t* mask) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    Pack<S, kPackSize<S>> pack;
    for (int v = 0; v < kPackSize<S>; ++v) pack.at[v] = y[i * kPackSize<S> + v];
    mask[i] = static_cast<uint8_t>(positive_bits(pack));
  }
}

/// What one block of each group writes besides y: inv_std where var was given, all of it where sums were.
template <class T>
struct Made {
  T *mean = nullptr, *inv_std = nullptr;
  Running running{};
};

template <class T, int V>
__device__ __forceinline__ void update_running(const Channels<T>& channels, const Running& running, int pack) {
  const double rows = static_cast<double>(channels.rows);
#pragma unroll 1
  for (int v = 0; v < V; ++v) {
    const int64_t c = static_cast<int64_t>(pack) * V + v;
    T mean, var;
    moments_of_sums(channels.sums[c], channels.sums[channels.count + c], channels.rows, mean, var);
    const double unbiased = static_cast<double>(var) * rows / (rows > 2 ? rows - 1 : 1);
    running.mean.set(c, running.decay * running.mean.get(c) + (1 - running.decay) * static_cast<double>(mean));
    running.var.set(c, running.decay * running.var.get(c) + (1 - running.decay) * unbiased);
  }
}

/// A thread for each channel.
__global__ void __launch_bounds__(kThreads)
    finish_sums(Channels<float> channels, Running running, float* mean, float* inv_std, float16* load) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= channels.count) return;
  const Affine<float, 1> affine(channels, static_cast<int>(c), true);
  mean[c] = affine.mean[0];
  inv_std[c] = affine.inverse[0];
  load[c] = narrow<float16>(affine.scale[0]);
  // Where the factor is rounded, the mean still becomes beta.
  const float factor = widen(load[c]);
  load[channels.count + c] = narrow<float16>(affine.shift[0] - affine.mean[0] * factor);
  if (running.mean.is_defined()) update_running<float, 1>(channels, running, static_cast<int>(c));
}

template <class S, int V, bool kResidual>
__global__ void __launch_bounds__(kThreads, kForwardBlocks)
    normalize(Grid grid, const S* x, const S* residual, Channels<Compute<S>> channels, bool relu, S* y, uint8_t* mask,
              Made<Compute<S>> made) {
  const Track track(grid);
  const Affine<Compute<S>, V> affine(channels, track.pack, track.is_inside(grid));
  if (made.inv_std != nullptr && blockIdx.y == 0 && track.lane == 0 && track.is_inside(grid)) {
    store_numbers(made.inv_std, track.pack, affine.inverse);
    if (made.mean != nullptr) store_numbers(made.mean, track.pack, affine.mean);
    if (made.running.mean.is_defined()) update_running<Compute<S>, V>(channels, made.running, track.pack);
  }
  normalize_rows<kResidual>(track, affine, x, residual, relu, y, mask);
}

/// Moments and result at once, for blocks that have all rows.
template <class S, int V, bool kResidual>
__global__ void __launch_bounds__(kThreads, kForwardBlocks)
    normalize_whole(Grid grid, const S* x, const S* residual, Channels<Compute<S>> channels, bool relu, double eps,
                    Running running, Compute<S>* mean, Compute<S>* inv_std, S* y, uint8_t* mask) {
  using T = Compute<S>;
  const Track track(grid);
  __shared__ PairsOfBlock<T, V> shared;
  Moments<T> own[V] = {};
  take_block_moments(grid, track, x, shared, own);
  shared.for_each_channel(grid, [&](int64_t c, T middle, T deviations) {
    finish_moments(c, static_cast<double>(middle), static_cast<double>(deviations), grid.rows, eps, running, mean,
                   inv_std);
  });
  channels.mean = mean;
  channels.inv_std = inv_std;
  const Affine<T, V> affine(channels, track.pack, track.is_inside(grid));
  normalize_rows<kResidual>(track, affine, x, residual, relu, y, mask);
}

/// The arrays of a call in the form that kernels want.
struct Call {
  Call(const Options& given, const Array& x, const Array& gamma)
      : options{given}, order{x.shape(), given.axes}, types{x, gamma}, context{Context::of(x)} {}

  const Options& options;
  RowOrder order;
  Types types;
  Context& context;
};

/// Where a call takes its statistics from.
struct Source {
  Array mean, inv_std;  ///< results where there are sums
  Array var = {};       ///< instead of inv_std, which is a result then if it is defined
  Array sums = {};      ///< instead of both: (2, channels) of the compute type
  Running running = {};
};

/// The mask, where kernels could not write it.
template <class S, int V>
uint8_t* mask_of_packs(const Array& mask) {
  return mask.is_defined() && V == kPackSize<S> ? mask.data<uint8_t>() : nullptr;
}
template <class S, int V>
void finish_mask(Context& context, const Array& mask, const void* y) {
  if (!mask.is_defined() || V == kPackSize<S>) return;
  enqueue(context, {dim3(blocks_for(mask.size(), kThreads)), dim3(kThreads)}, take_mask<S>, mask.size(),
          static_cast<const S*>(y), mask.data<uint8_t>());
}

/// y from such statistics.
void apply(const Call& call, const Array& x, const Array& residual, const Array& gamma, const Array& beta,
           const Source& from, const Array& y, const Array& mask = Array()) {
  const Array others = call.order.rows_of(residual, call.types.storage);
  const Array factor = channel_numbers(gamma, call.types.compute), shift = channel_numbers(beta, call.types.compute);
  const RowResult result(call.order, y, call.types.storage);
  const void* const more = data_or_null(others);
  visit_packs(call.types.storage, call.order.channels(),
              {x.raw_data(), more, result.data(), factor.raw_data(), shift.raw_data(), data_or_null(from.mean),
               data_or_null(from.inv_std), data_or_null(from.var), data_or_null(from.sums)},
              [&]<class S, int V>() {
                using T = Compute<S>;
                const Grid grid(call.context.facts().multiprocessors, kForwardBlocks, call.order.rows(),
                                call.order.channels(), V);
                Channels<T> channels{
                    .gamma = factor.data<T>(), .beta = shift.data<T>(), .eps = static_cast<T>(call.options.eps)};
                Made<T> made;
                if (from.sums.is_defined()) {
                  channels.sums = from.sums.data<T>();
                  channels.rows = static_cast<T>(call.order.rows());
                  channels.count = call.order.channels();
                  made = {from.mean.data<T>(), from.inv_std.data<T>(), from.running};
                } else {
                  channels.mean = from.mean.data<T>();
                  channels.var = data_or_null<T>(from.var);
                  if (from.var.is_defined()) {
                    made.inv_std = from.inv_std.is_defined() ? from.inv_std.data<T>() : nullptr;
                  } else {
                    channels.inv_std = from.inv_std.data<T>();
                  }
                }
                enqueue(call.context, shape_of(grid), more != nullptr ? normalize<S, V, true> : normalize<S, V, false>,
                        grid, x.data<S>(), static_cast<const S*>(more), channels, call.options.relu,
                        reinterpret_cast<S*>(result.data()), mask_of_packs<S, V>(mask), made);
                finish_mask<S, V>(call.context, mask, result.data());
              });
  result.finish();
}

void normalize_at_once(const Call& call, const Array& x, const Array& residual, const Array& gamma, const Array& beta,
                       const Running& running, const Array& mean, const Array& inv_std, const Array& y,
                       const Array& mask) {
  const Array others = call.order.rows_of(residual, call.types.storage);
  const Array factor = channel_numbers(gamma, call.types.compute), shift = channel_numbers(beta, call.types.compute);
  const RowResult result(call.order, y, call.types.storage);
  const void* const more = data_or_null(others);
  visit_packs(
      call.types.storage, call.order.channels(),
      {x.raw_data(), more, result.data(), factor.raw_data(), shift.raw_data(), mean.raw_data(), inv_std.raw_data()},
      [&]<class S, int V>() {
        using T = Compute<S>;
        const Grid grid(call.order.rows(), call.order.channels(), V);
        enqueue(call.context, shape_of(grid),
                more != nullptr ? normalize_whole<S, V, true> : normalize_whole<S, V, false>, grid, x.data<S>(),
                static_cast<const S*>(more), Channels<T>{.gamma = factor.data<T>(), .beta = shift.data<T>()},
                call.options.relu, call.options.eps, running, mean.data<T>(), inv_std.data<T>(),
                reinterpret_cast<S*>(result.data()), mask_of_packs<S, V>(mask));
        finish_mask<S, V>(call.context, mask, result.data());
      });
  result.finish();
}

/// sums and mask may be undefined; the mask comes with a residual and y.
void normalize_batch(const Options& options, const Array& x, const Array& sums, const Array& residual,
                     const Array& gamma, const Array& beta, const Array& running_mean, const Array& running_var,
                     const Array& mean, const Array& inv_std, const Array& y, const Array& mask) {
  if (x.size() == 0) {
    mean.fill(0.0);
    inv_std.fill(1 / std::sqrt(options.eps));
    return;
  }
  const Call call(options, x, gamma);
  const Array rows = call.order.rows_of(x, call.types.storage);
  const ChannelResult means(running_mean), vars(running_var);
  const Running running{means.numbers(), vars.numbers(), options.decay};
  if (sums.is_defined() && y.is_defined()) {
    const Source source{.mean = mean, .inv_std = inv_std, .sums = sums, .running = running};
    apply(call, rows, residual, gamma, beta, source, y, mask);
    means.finish();
    vars.finish();
    return;
  }
  if (y.is_defined() && Grid::takes_one_kernel(call.order.rows())) {
    normalize_at_once(call, rows, residual, gamma, beta, running, mean, inv_std, y, mask);
    means.finish();
    vars.finish();
    return;
  }
  const int channels = static_cast<int>(call.order.channels());
  visit_packs(call.types.storage, channels, {rows.raw_data()}, [&]<class S, int V>() {
    using T = Compute<S>;
    const Grid grid(call.context.facts().multiprocessors, kForwardBlocks, call.order.rows(), channels, V);
    const Scratch scratch(call.context,
                          sizeof(T) * 2 * static_cast<size_t>(grid.chunks) * static_cast<size_t>(channels));
    enqueue(call.context, shape_of(grid), take_moments<S, V>, grid, rows.data<S>(), scratch.data<T>());
    enqueue(call.context, combine_shape(channels), combine_moments<T>, grid, channels, scratch.data<T>(), options.eps,
            running, mean.data<T>(), inv_std.data<T>());
  });
  means.finish();
  vars.finish();
  if (y.is_defined()) apply(call, rows, residual, gamma, beta, {.mean = mean, .inv_std = inv_std}, y, mask);
}

void forward(Params<Options> options, In x, In residual, In gamma, In beta, InOut running_mean, InOut running_var,
             Out mean, Out inv_std, Out y) {
  normalize_batch(options, x, Array(), residual, gamma, beta, running_mean, running_var, mean, inv_std, y, Array());
}

void fused_forward(Params<Options> options, In x, In sums, In residual, In gamma, In beta, InOut running_mean,
                   InOut running_var, Out mean, Out inv_std, Out y, Out mask) {
  normalize_batch(options, x, sums, residual, gamma, beta, running_mean, running_var, mean, inv_std, y, mask);
}

void fixed(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In var, Out inv_std, Out y) {
  const Call call(*options, x, gamma);
  const Dtype compute = call.types.compute;
  if (call.order.channels() == 0) return;
  apply(call, call.order.rows_of(x, call.types.storage), residual, gamma, beta,
        {.mean = channel_numbers(mean, compute), .inv_std = inv_std, .var = channel_numbers(var, compute)}, y);
}

void again(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In inv_std, Out y) {
  if (x->size() == 0) return;
  const Call call(*options, x, gamma);
  apply(call, call.order.rows_of(x, call.types.storage), residual, gamma, beta, {.mean = mean, .inv_std = inv_std}, y);
}

}  // namespace

void finish_channel_sums(const kernels::BatchNormalization& options, const Array& x, const Array& sums,
                         const Array& gamma, const Array& beta, const Array& running_mean, const Array& running_var,
                         const Array& mean, const Array& inv_std, const Array& load) {
  const ChannelResult means(running_mean), vars(running_var);
  const Running running{means.numbers(), vars.numbers(), options.decay};
  const int64_t channels = gamma.size();
  const Channels<float> numbers{.gamma = gamma.data<float>(),
                                .beta = beta.data<float>(),
                                .eps = static_cast<float>(options.eps),
                                .sums = sums.data<float>(),
                                .rows = static_cast<float>(x.size() / channels),
                                .count = channels};
  enqueue(Context::of(x), {dim3(blocks_for(channels, kThreads)), dim3(kThreads)}, finish_sums, numbers, running,
          mean.data<float>(), inv_std.data<float>(), load.data<float16>());
  means.finish();
  vars.finish();
}

void take_channel_sums(const Array& y, const Array& sums) {
  const RowOrder order(y.shape(), AxisMask{~AxisMask::of(1).bits});
  const Array rows = order.rows_of(y, y.dtype());
  Context& context = Context::of(y);
  const int channels = static_cast<int>(order.channels());
  visit_packs(y.dtype(), channels, {rows.raw_data()}, [&]<class S, int V>() {
    using T = Compute<S>;
    const Grid grid(context.facts().multiprocessors, kForwardBlocks, order.rows(), channels, V);
    const Scratch scratch(context, sizeof(T) * 2 * static_cast<size_t>(grid.chunks) * static_cast<size_t>(channels));
    enqueue(context, shape_of(grid), take_moments<S, V>, grid, rows.data<S>(), scratch.data<T>());
    enqueue(context, combine_shape(channels), combine_to_sums<T>, grid, channels, scratch.data<T>(),
            sums.data<float>());
  });
}

void register_batch_normalization(Backend& backend) {
  backend.add<kernels::BatchNormalizationForward>(forward);
  backend.add<kernels::FixedBatchNormalization>(fixed);
  backend.add<kernels::BatchNormalizationAgain>(again);
  backend.add<kernels::BatchNormalizationBackward>(batch_normalization_backward);
  backend.add<kernels::BatchNormalizationFusedForward>(fused_forward);
  backend.add<kernels::BatchNormalizationMaskedBackward>(batch_normalization_masked_backward);
}

}  // namespace kusari::cuda
