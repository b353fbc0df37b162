#include "kusari/cuda/kernels/batch_normalization_backward.h"

#include "kusari/cuda/kernels/batch_normalization.cuh"

namespace kusari::cuda {
namespace {

using namespace batch_norm;

/// Where the gradient passes the ReLU: everywhere, where the normalized x is positive, where y is, where a bit says so.
enum class Mask { none, from_x, from_y, from_bits };

KUSARI_HOST_DEVICE constexpr bool has_gate(Mask mask) { return mask == Mask::from_y || mask == Mask::from_bits; }

/// What tells it, where x does not.
template <class S>
struct Gate {
  const S* y;
  const uint8_t* bits;
};

/// gy where the ReLU let pass, else 0. y: that of Mask::from_y, or 1 and 0 from bits.
template <Mask kMask, class T, int V>
__device__ __forceinline__ T masked(T gy, T centred, T y, const Affine<T, V>& affine, int v) {
  if constexpr (kMask == Mask::from_x) return affine.of_centred(centred, v) > T{0} ? gy : T{0};
  if constexpr (has_gate(kMask)) return y > T{0} ? gy : T{0};
  return gy;
}

/// The sums of the masked gy and of it times x - mean over a block's rows, in lane 0 of each pack and in `shared`.
/// A gate also has the masked gy written, which is all that the next pass and the residual want of gy and the gate.
template <Mask kMask, class S, class T, int V>
__device__ __forceinline__ void take_block_sums(const Grid& grid, const Track& track, const Affine<T, V>& affine,
                                                const S* x, const Gate<S>& gate, const S* gy, S* masked_gy,
                                                PairsOfBlock<T, V>& shared, T (&sum)[V], T (&product)[V]) {
  constexpr bool kFromY = kMask == Mask::from_y;
  constexpr bool kFromBits = kMask == Mask::from_bits;
  constexpr bool kGated = has_gate(kMask);
  T(&sums)[V][kThreads] = shared.first, (&products)[V][kThreads] = shared.second;
  const auto add = [&]<int kRows>(int64_t at) {
    Pack<S, V> from[kRows], gradient[kRows];
    [[maybe_unused]] Pack<S, V> to[kFromY ? kRows : 1];
    unsigned bits[kFromBits ? kRows : 1] = {};
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int64_t pack = at + u * track.step;
      from[u] = load_pack<V>(x, pack);
      gradient[u] = kGated ? load_pack_once<V>(gy, pack) : load_pack<V>(gy, pack);
      if constexpr (kFromY) to[u] = load_pack_once<V>(gate.y, pack);
      if constexpr (kFromBits) bits[u] = bits_of_pack<S, V>(gate.bits, pack);
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      [[maybe_unused]] Pack<S, V> out;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const T centred = affine.centred(widen(from[u].at[v]), v);
        const T y = kFromY ? widen(to[kFromY ? u : 0].at[v]) : static_cast<T>(bits[kFromBits ? u : 0] >> v & 1u);
        const T g = masked<kMask>(widen(gradient[u].at[v]), centred, y, affine, v);
        sum[v] += g;
        product[v] += g * centred;
        if constexpr (kGated) out.at[v] = narrow<S>(g);
      }
      if constexpr (kGated) store_pack(masked_gy, at + u * track.step, out);
    }
  };
  constexpr int kRows = kRowsAtOnce / 2;
  int k = 0;
  for (; k + kRows <= track.count; k += kRows) add.template operator()<kRows>(track.first + k * track.step);
  for (; k < track.count; ++k) add.template operator()<1>(track.first + k * track.step);

  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    sums[v][thread] = sum[v];
    products[v][thread] = product[v];
  }
  for (int half = track.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (track.lane >= half) continue;
    const int other = thread + (half << grid.log_columns);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      sums[v][thread] = sum[v] += sums[v][other];
      products[v][thread] = product[v] += products[v][other];
    }
  }
}

/// part[chunk] = {sums of the masked gy, sums of it times x - mean}.
template <class S, int V, Mask kMask>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks)
    take_sums(Grid grid, const S* x, Gate<S> gate, const S* gy, Channels<Compute<S>> channels, S* masked_gy,
              Compute<S>* parts) {
  using T = Compute<S>;
  const Track track(grid);
  const Affine<T, V> affine(channels, track.pack, track.is_inside(grid));
  __shared__ PairsOfBlock<T, V> shared;
  T sum[V] = {}, product[V] = {};
  take_block_sums<kMask>(grid, track, affine, x, gate, gy, masked_gy, shared, sum, product);
  if (track.lane > 0 || !track.is_inside(grid)) return;
  const int64_t count = static_cast<int64_t>(grid.packs) * V;
  T* const part = parts + blockIdx.y * 2 * count;
  store_numbers(part, track.pack, sum);
  store_numbers(part + count, track.pack, product);
}

/// Where sums go: ggamma, gbeta, and for gx offset = the mean of the masked gy, slope = that of it times x - mean, over
/// var + eps.
template <class T>
struct SumResults {
  AnyNumbers ggamma, gbeta;
  T *offset, *slope;

  __device__ __forceinline__ void set(int64_t c, double sum, double product_of_centred, int64_t count,
                                      const T* inv_std) const {
    const double inverse = static_cast<double>(inv_std[c]), rows = static_cast<double>(count);
    const double product = product_of_centred * inverse;
    offset[c] = static_cast<T>(sum / rows);
    slope[c] = static_cast<T>(product * inverse / rows);
    if (ggamma.is_defined()) ggamma.set(c, product);
    if (gbeta.is_defined()) gbeta.set(c, sum);
  }
};

template <class T>
__global__ void __launch_bounds__(kCombineThreads)
    combine_sums(Grid grid, int channels, const T* parts, const T* inv_std, SumResults<T> results) {
  const Sums sums = combine_parts(grid.chunks, channels, [&](int chunk, int c, Sums& total) {
    const T* const part = parts + static_cast<int64_t>(chunk) * 2 * channels + c;
    total.first += static_cast<double>(part[0]);
    total.second += static_cast<double>(part[channels]);
  });
  const int c = static_cast<int>(blockIdx.x) * kCombined + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kCombined || c >= channels) return;
  results.set(c, sums.first, sums.second, grid.rows, inv_std);
}

/// gx = scale ((gy - offset) - (x - mean) slope), or scale gy where the statistics are constants, gy masked from x or
/// not at all.
template <bool kMasked, bool kFixed, class S, class T, int V>
__device__ __forceinline__ void take_row_gradients(const Grid& grid, const Track& track, const Affine<T, V>& affine,
                                                   const S* x, const S* gy, const T* offset, const T* slope, S* gx) {
  constexpr bool kNeedsX = kMasked || !kFixed;
  constexpr Mask kMask = kMasked ? Mask::from_x : Mask::none;
  T base[V] = {}, factor[V] = {};
  if (!kFixed && track.is_inside(grid)) {
    load_numbers<V>(offset, track.pack, base);
    load_numbers<V>(slope, track.pack, factor);
  }
  track.backwards<kRowsAtOnce / 2>([&]<int kRows>(int64_t at) {
    [[maybe_unused]] Pack<S, V> from[kNeedsX ? kRows : 1];
    Pack<S, V> gradient[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      if constexpr (kNeedsX) from[u] = load_pack_once<V>(x, at + u * track.step);
      gradient[u] = load_pack_once<V>(gy, at + u * track.step);
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      Pack<S, V> out;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const T centred = kNeedsX ? affine.centred(widen(from[kNeedsX ? u : 0].at[v]), v) : T{};
        const T g = masked<kMask>(widen(gradient[u].at[v]), centred, T{}, affine, v);
        out.at[v] = narrow<S>(affine.scale[v] * (kFixed ? g : (g - base[v]) - centred * factor[v]));
      }
      store_pack(gx, at + u * track.step, out);
    }
  });
}

template <class S, int V, bool kMasked, bool kFixed>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks)
    take_gradient(Grid grid, const S* x, const S* gy, Channels<Compute<S>> channels, const Compute<S>* offset,
                  const Compute<S>* slope, S* gx) {
  const Track track(grid);
  const Affine<Compute<S>, V> affine(channels, track.pack, track.is_inside(grid));
  take_row_gradients<kMasked, kFixed>(grid, track, affine, x, gy, offset, slope, gx);
}

/// Sums and gradient at once, for blocks that have all rows.
template <class S, int V, Mask kMask>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks)
    take_whole_gradient(Grid grid, const S* x, Gate<S> gate, const S* gy, Channels<Compute<S>> channels, S* masked_gy,
                        SumResults<Compute<S>> results, S* gx) {
  using T = Compute<S>;
  const Track track(grid);
  const Affine<T, V> affine(channels, track.pack, track.is_inside(grid));
  __shared__ PairsOfBlock<T, V> shared;
  T sum[V] = {}, product[V] = {};
  take_block_sums<kMask>(grid, track, affine, x, gate, gy, masked_gy, shared, sum, product);
  shared.for_each_channel(grid, [&](int64_t c, T total, T product_of_centred) {
    results.set(c, static_cast<double>(total), static_cast<double>(product_of_centred), grid.rows, channels.inv_std);
  });
  // A thread reads the masked gradients that it wrote.
  take_row_gradients<kMask == Mask::from_x, false>(grid, track, affine, x, has_gate(kMask) ? masked_gy : gy,
                                                   results.offset, results.slope, gx);
}

/// y or bits where a residual was added, beta where not.
void take_gradients(const kernels::BatchNormalization& options, const Array& x, const Array& y, const Array& bits,
                    const Array& gy, const Array& gamma, const Array& beta, const Array& mean, const Array& inv_std,
                    const Array& gx, const Array& gresidual, const Array& ggamma, const Array& gbeta) {
  if (x.size() == 0) {
    if (ggamma.is_defined()) ggamma.fill(0.0);
    if (gbeta.is_defined()) gbeta.fill(0.0);
    return;
  }
  const Types types(x, gamma);
  const RowOrder order(x.shape(), options.axes);
  Context& context = Context::of(x);
  const int channels = static_cast<int>(order.channels());
  const Mask mask = !options.relu       ? Mask::none
                    : bits.is_defined() ? Mask::from_bits
                    : y.is_defined()    ? Mask::from_y
                                        : Mask::from_x;
  const Array from = order.rows_of(x, types.storage), gradient = order.rows_of(gy, types.storage);
  const Array to = mask == Mask::from_y ? order.rows_of(y, types.storage) : Array();
  const Array factor = channel_numbers(gamma, types.compute), shift = channel_numbers(beta, types.compute);
  const bool in_place = gresidual.is_defined() && gresidual.dtype() == types.storage && order.holds_for(gresidual);
  const Array kept = !has_gate(mask) ? Array()
                     : in_place      ? gresidual
                                     : empty(order.permuted(), types.storage, x.device());
  const RowResult result(order, gx, types.storage);
  const ChannelResult ggammas(ggamma), gbetas(gbeta);

  visit_packs(
      types.storage, channels,
      {from.raw_data(), data_or_null(to), gradient.raw_data(), data_or_null(kept),
       result.is_defined() ? result.data() : nullptr, factor.raw_data(), data_or_null(shift), mean.raw_data(),
       inv_std.raw_data()},
      [&]<class S, int V>() {
        using T = Compute<S>;
        const bool at_once = Grid::takes_one_kernel(order.rows()) && !options.fixed && result.is_defined();
        const Grid grid = at_once ? Grid(order.rows(), channels, V)
                                  : Grid(context.facts().multiprocessors, kBackwardBlocks, order.rows(), channels, V);
        const auto width = static_cast<size_t>(channels);
        const Scratch scratch(context, sizeof(T) * 2 * width * (static_cast<size_t>(grid.chunks) + 1));
        T* const offset = scratch.template data<T>();
        T *const slope = offset + width, *const parts = slope + width;
        const Channels<T> numbers{.gamma = factor.data<T>(),
                                  .beta = data_or_null<T>(shift),
                                  .mean = mean.data<T>(),
                                  .inv_std = inv_std.data<T>()};
        const S *const rows = from.data<S>(), *gys = gradient.data<S>();
        const SumResults<T> results{ggammas.numbers(), gbetas.numbers(), offset, slope};
        S* const masked_gy = kept.is_defined() ? kept.data<S>() : nullptr;
        const Gate<S> gate{data_or_null<S>(to), data_or_null<uint8_t>(bits)};
        if (at_once) {
          const auto kernel = mask == Mask::none        ? take_whole_gradient<S, V, Mask::none>
                              : mask == Mask::from_x    ? take_whole_gradient<S, V, Mask::from_x>
                              : mask == Mask::from_bits ? take_whole_gradient<S, V, Mask::from_bits>
                                                        : take_whole_gradient<S, V, Mask::from_y>;
          return enqueue(context, shape_of(grid), kernel, grid, rows, gate, gys, numbers, masked_gy, results,
                         reinterpret_cast<S*>(result.data()));
        }
        if (kept.is_defined() || !options.fixed || ggamma.is_defined() || gbeta.is_defined()) {
          const auto kernel = mask == Mask::none        ? take_sums<S, V, Mask::none>
                              : mask == Mask::from_x    ? take_sums<S, V, Mask::from_x>
                              : mask == Mask::from_bits ? take_sums<S, V, Mask::from_bits>
                                                        : take_sums<S, V, Mask::from_y>;
          enqueue(context, shape_of(grid), kernel, grid, rows, gate, gys, numbers, masked_gy, parts);
          enqueue(context, combine_shape(channels), combine_sums<T>, grid, channels, parts, numbers.inv_std, results);
          if (kept.is_defined()) gys = masked_gy;
        }
        if (!result.is_defined()) return;
        const bool from_x = mask == Mask::from_x;
        const auto kernel = options.fixed
                                ? (from_x ? take_gradient<S, V, true, true> : take_gradient<S, V, false, true>)
                                : (from_x ? take_gradient<S, V, true, false> : take_gradient<S, V, false, false>);
        enqueue(context, shape_of(grid), kernel, grid, rows, gys, numbers, offset, slope,
                reinterpret_cast<S*>(result.data()));
      });
  if (kept.is_defined() && gresidual.is_defined() && !in_place) gresidual.copy_from(order.restored(kept));
  ggammas.finish();
  gbetas.finish();
  result.finish();
}

}  // namespace

void batch_normalization_backward(Params<kernels::BatchNormalization> options, In x, In y, In gy, In gamma, In beta,
                                  In mean, In inv_std, Out gx, Out gresidual, Out ggamma, Out gbeta) {
  take_gradients(options, x, y, Array(), gy, gamma, beta, mean, inv_std, gx, gresidual, ggamma, gbeta);
}

void batch_normalization_masked_backward(Params<kernels::BatchNormalization> options, In x, In mask, In gy, In gamma,
                                         In mean, In inv_std, Out gx, Out gresidual, Out ggamma, Out gbeta) {
  take_gradients(options, x, Array(), mask, gy, gamma, Array(), mean, inv_std, gx, gresidual, ggamma, gbeta);
}

}  // namespace kusari::cuda
