#include "kusari/cuda/kernels/batch_normalization.cuh"

#include <cmath>

#include "kusari/cuda/kernels/batch_normalization_backward.h"
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

/// The moments of all rows, and the running ones.
template <class T>
__global__ void __launch_bounds__(kCombineThreads)
    combine_moments(Grid grid, int channels, const T* parts, double eps, Running running, T* mean, T* inv_std) {
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
  finish_moments(c, static_cast<double>(parts[c]) + offset, sums.second - sums.first * offset, grid.rows, eps, running,
                 mean, inv_std);
}

/// y = (x - mean) scale + beta [+ residual] [cut at 0].
template <bool kResidual, class S, class T, int V>
__device__ __forceinline__ void normalize_rows(const Track& track, const Affine<T, V>& affine, const S* x,
                                               const S* residual, bool relu, S* y) {
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
    }
  });
}

/// inv_std, if not null, is written where var was given.
template <class S, int V, bool kResidual>
__global__ void __launch_bounds__(kThreads, kForwardBlocks)
    normalize(Grid grid, const S* x, const S* residual, Channels<Compute<S>> channels, bool relu, S* y,
              Compute<S>* inv_std) {
  const Track track(grid);
  const Affine<Compute<S>, V> affine(channels, track.pack, track.is_inside(grid));
  if (inv_std != nullptr && blockIdx.y == 0 && track.lane == 0 && track.is_inside(grid)) {
    store_numbers(inv_std, track.pack, affine.inverse);
  }
  normalize_rows<kResidual>(track, affine, x, residual, relu, y);
}

/// Moments and result at once, for blocks that have all rows.
template <class S, int V, bool kResidual>
__global__ void __launch_bounds__(kThreads, kForwardBlocks)
    normalize_whole(Grid grid, const S* x, const S* residual, Channels<Compute<S>> channels, bool relu, double eps,
                    Running running, Compute<S>* mean, Compute<S>* inv_std, S* y) {
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
  normalize_rows<kResidual>(track, affine, x, residual, relu, y);
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

/// y from the statistics `mean` and either `inv_std` or `var`; with the latter, inv_std is a result.
void apply(const Call& call, const Array& x, const Array& residual, const Array& gamma, const Array& beta,
           const Array& mean, const Array& inv_std, const Array& var, const Array& y) {
  const Array others = call.order.rows_of(residual, call.types.storage);
  const Array factor = channel_numbers(gamma, call.types.compute), shift = channel_numbers(beta, call.types.compute);
  const RowResult result(call.order, y, call.types.storage);
  const void* const more = data_or_null(others);
  visit_packs(call.types.storage, call.order.channels(),
              {x.raw_data(), more, result.data(), factor.raw_data(), shift.raw_data(), mean.raw_data(),
               data_or_null(inv_std), data_or_null(var)},
              [&]<class S, int V>() {
                using T = Compute<S>;
                const Grid grid(call.context.facts().multiprocessors, kForwardBlocks, call.order.rows(),
                                call.order.channels(), V);
                Channels<T> channels{.gamma = factor.data<T>(), .beta = shift.data<T>(), .mean = mean.data<T>()};
                T* made = nullptr;
                if (var.is_defined()) {
                  channels.var = var.data<T>();
                  channels.eps = static_cast<T>(call.options.eps);
                  made = inv_std.is_defined() ? inv_std.data<T>() : nullptr;
                } else {
                  channels.inv_std = inv_std.data<T>();
                }
                enqueue(call.context, shape_of(grid), more != nullptr ? normalize<S, V, true> : normalize<S, V, false>,
                        grid, x.data<S>(), static_cast<const S*>(more), channels, call.options.relu,
                        reinterpret_cast<S*>(result.data()), made);
              });
  result.finish();
}

void normalize_at_once(const Call& call, const Array& x, const Array& residual, const Array& gamma, const Array& beta,
                       const Running& running, const Array& mean, const Array& inv_std, const Array& y) {
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
                reinterpret_cast<S*>(result.data()));
      });
  result.finish();
}

void forward(Params<Options> options, In x, In residual, In gamma, In beta, InOut running_mean, InOut running_var,
             Out mean, Out inv_std, Out y) {
  if (x->size() == 0) {
    mean->fill(0.0);
    inv_std->fill(1 / std::sqrt(options->eps));
    return;
  }
  const Call call(*options, x, gamma);
  const Array rows = call.order.rows_of(x, call.types.storage);
  const ChannelResult means(running_mean), vars(running_var);
  const Running running{means.numbers(), vars.numbers(), options->decay};
  if (y && Grid::takes_one_kernel(call.order.rows())) {
    normalize_at_once(call, rows, residual, gamma, beta, running, mean, inv_std, y);
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
    enqueue(call.context, combine_shape(channels), combine_moments<T>, grid, channels, scratch.data<T>(), options->eps,
            running, mean->data<T>(), inv_std->data<T>());
  });
  means.finish();
  vars.finish();
  if (y) apply(call, rows, residual, gamma, beta, mean, inv_std, Array(), y);
}

void fixed(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In var, Out inv_std, Out y) {
  const Call call(*options, x, gamma);
  const Dtype compute = call.types.compute;
  if (call.order.channels() == 0) return;
  apply(call, call.order.rows_of(x, call.types.storage), residual, gamma, beta, channel_numbers(mean, compute), inv_std,
        channel_numbers(var, compute), y);
}

void again(Params<Options> options, In x, In residual, In gamma, In beta, In mean, In inv_std, Out y) {
  if (x->size() == 0) return;
  const Call call(*options, x, gamma);
  apply(call, call.order.rows_of(x, call.types.storage), residual, gamma, beta, mean, inv_std, Array(), y);
}

}  // namespace

void register_batch_normalization(Backend& backend) {
  backend.add<kernels::BatchNormalizationForward>(forward);
  backend.add<kernels::FixedBatchNormalization>(fixed);
  backend.add<kernels::BatchNormalizationAgain>(again);
  backend.add<kernels::BatchNormalizationBackward>(batch_normalization_backward);
}

}  // namespace kusari::cuda
