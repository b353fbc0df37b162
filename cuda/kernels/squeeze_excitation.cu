#include "kusari/framework/kernels/squeeze_excitation.h"

#include <algorithm>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/channels_last.h"
#include "kusari/cuda/kernels/inner_function.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/runtime/register.h"

// Three kernels: sums over the positions of an image, the inner layer, and the product of the image with factors, which
// its blocks compute for their channels from the outer layer.
namespace kusari::cuda {
namespace {

constexpr int kExcitationThreads = 256;
constexpr int kMostLanes = 32;
constexpr int64_t kMostParts = 16;
constexpr int64_t kMostGridZ = 65535;

/// How a block's threads lie over an image: `lanes` neighbours have neighbouring packs of channels, `rows` such lines
/// have neighbouring positions; a block takes `part` positions.
struct ImageTiles {
  int64_t channels, positions;
  int lanes, rows;
  int64_t part;

  ImageTiles(const Array& x, int64_t pack)
      : channels{x.shape()[1]}, positions{x.shape()[2] * x.shape()[3]}, lanes{4}, part{0} {
    while (lanes < kMostLanes && lanes * pack < channels) lanes *= 2;
    rows = kExcitationThreads / lanes;
  }
  /// A grid of images, tiles of channels, and parts.
  LaunchShape shape(int64_t images, int64_t pack) const {
    return {{static_cast<unsigned>(images), blocks_for(channels, lanes * pack), blocks_for(positions, part)},
            {kExcitationThreads}};
  }
};

/// Where a thread of such a grid works.
template <int N>
struct TilePlace {
  int row;
  int64_t image, pack, packs, first, end;
  bool is_idle;

  __device__ __forceinline__ explicit TilePlace(const ImageTiles& tiles) {
    const int lane = static_cast<int>(threadIdx.x) % tiles.lanes;
    row = static_cast<int>(threadIdx.x) / tiles.lanes;
    image = blockIdx.x;
    pack = int64_t{blockIdx.y} * tiles.lanes + lane;
    packs = tiles.channels / N;
    first = int64_t{blockIdx.z} * tiles.part;
    end = first + tiles.part < tiles.positions ? first + tiles.part : tiles.positions;
    is_idle = pack >= packs;
  }
};

/// sums[image, part, channel] of x over the positions of a part.
template <int N>
__global__ void __launch_bounds__(kExcitationThreads) sum_positions(const float* x, float* sums, ImageTiles tiles) {
  __shared__ float shared[kExcitationThreads * N];
  const TilePlace<N> at(tiles);
  float sum[N] = {};
  if (!at.is_idle) {
    const float* const image = x + at.image * tiles.positions * tiles.channels;
#pragma unroll 4
    for (int64_t position = at.first + at.row; position < at.end; position += tiles.rows) {
      const Pack<float, N> some = load_pack<N>(image, position * at.packs + at.pack);
#pragma unroll
      for (int c = 0; c < N; ++c) sum[c] += some.at[c];
    }
  }
#pragma unroll
  for (int c = 0; c < N; ++c) shared[threadIdx.x * N + c] = sum[c];
  __syncthreads();
  if (at.row != 0 || at.is_idle) return;
  for (int row = 1; row < tiles.rows; ++row) {
#pragma unroll
    for (int c = 0; c < N; ++c) sum[c] += shared[(row * tiles.lanes + threadIdx.x) * N + c];
  }
  Pack<float, N> result;
#pragma unroll
  for (int c = 0; c < N; ++c) result.at[c] = sum[c];
  store_pack<N>(sums + (at.image * gridDim.z + blockIdx.z) * tiles.channels, at.pack, result);
}

/// One of the two products, and its function.
struct ExcitationLayer {
  const float *W, *bias;  // (outs, ins), (outs) or null
  int64_t outs, ins;
  InnerFunction function;

  ExcitationLayer(const Array& weights, const Array& b, const kernels::UnaryFunctor& f)
      : W{weights.data<float>()},
        bias{b.is_defined() ? b.data<float>() : nullptr},
        outs{weights.shape()[0]},
        ins{weights.shape()[1]},
        function{f} {}
};

/// y[image, o] = function(bias[o] + sum_i W[o, i] x[image, i]), a warp each, where x[image] is the sum of `parts` rows
/// over `divisor`.
__global__ void __launch_bounds__(kExcitationThreads)
    excitation_layer(const float* x, int parts, float divisor, ExcitationLayer layer, float* y, int64_t elements) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t element = int64_t{blockIdx.x} * (kExcitationThreads / kWarp) + threadIdx.x / kWarp;
  if (element >= elements) return;
  const int64_t image = element / layer.outs, o = element - image * layer.outs;
  float total = 0;
  for (int64_t i = lane; i < layer.ins; i += kWarp) {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += x[(image * parts + part) * layer.ins + i];
    total += layer.W[o * layer.ins + i] * (sum / divisor);
  }
  total = warp_reduce(total, Plus<float>{});
  if (layer.bias != nullptr) total += layer.bias[o];
  if (lane == 0) y[element] = layer.function(total);
}

/// y = x s for each image and channel, with s = layer(inner[image]), or the factors that are given.
template <int N>
__global__ void __launch_bounds__(kExcitationThreads)
    excite(const float* x, const float* inner, const float* given, ExcitationLayer layer, float* y, ImageTiles tiles) {
  __shared__ float factors[kMostLanes * N];
  const TilePlace<N> at(tiles);
  const int64_t channel = int64_t{blockIdx.y} * tiles.lanes * N + threadIdx.x;
  if (static_cast<int>(threadIdx.x) < tiles.lanes * N && channel < tiles.channels) {
    if (given != nullptr) {
      factors[threadIdx.x] = given[at.image * tiles.channels + channel];
    } else {
      float sum = 0;
#pragma unroll 4
      for (int64_t i = 0; i < layer.ins; ++i) sum += layer.W[channel * layer.ins + i] * inner[at.image * layer.ins + i];
      if (layer.bias != nullptr) sum += layer.bias[channel];
      factors[threadIdx.x] = layer.function(sum);
    }
  }
  __syncthreads();
  if (at.is_idle) return;
  float factor[N];
  const int lane = static_cast<int>(threadIdx.x) % tiles.lanes;
#pragma unroll
  for (int c = 0; c < N; ++c) factor[c] = factors[lane * N + c];
  const int64_t image = at.image * tiles.positions * tiles.channels;
#pragma unroll 4
  for (int64_t position = at.first + at.row; position < at.end; position += tiles.rows) {
    Pack<float, N> some = load_pack<N>(x + image, position * at.packs + at.pack);
#pragma unroll
    for (int c = 0; c < N; ++c) some.at[c] *= factor[c];
    store_pack<N>(y + image, position * at.packs + at.pack, some);
  }
}

/// The factors of a layer whose function kernels cannot apply.
Array factors_of(Context& context, const Array& inner, ExcitationLayer layer, const kernels::UnaryFunctor& function) {
  const int64_t images = inner.shape()[0];
  const Array factors = empty({images, layer.outs}, Dtype::float32, inner.device());
  layer.function = InnerFunction();
  const LaunchShape shape = {{blocks_for(factors.size(), kExcitationThreads / kWarp)}, {kExcitationThreads}};
  enqueue(context, shape, excitation_layer, inner.data<float>(), 1, 1.0f, layer, factors.data<float>(), factors.size());
  apply_function(function, factors, factors);
  return factors;
}

void squeeze_excitation(Params<kernels::ExcitationFunctions> functions, In x, In W1, In b1, In W2, In b2, Out y) {
  if (y->size() == 0) return;
  Context& context = Context::of(y);
  const auto dense = [](const Array& a) { return a.is_defined() ? a.contiguous() : a; };
  const Array from = channels_last_input(*x), w1 = dense(*W1), w2 = dense(*W2), bias1 = dense(*b1), bias2 = dense(*b2);
  const ChannelsLastOutput result(*y);
  const int64_t images = from.shape()[0];
  ExcitationLayer inner_layer(w1, bias1, functions->inner);
  const ExcitationLayer outer_layer(w2, bias2, functions->outer);
  const Array inner = empty({images, inner_layer.outs}, Dtype::float32, y->device());
  visit_channel_packs({&from, &result.array()}, [&]<class T, int N>() {
    if constexpr (std::is_same_v<T, float>) {
      ImageTiles tiles(from, N);
      // The parts depend on the sizes alone, and so do the sums.
      const int64_t parts = std::clamp<int64_t>(tiles.positions / (4 * tiles.rows), 1, kMostParts);
      tiles.part = (tiles.positions + parts - 1) / parts;
      const LaunchShape shape = tiles.shape(images, N);
      const Scratch sums(context, static_cast<size_t>(images * shape.grid.z * tiles.channels) * sizeof(float));
      enqueue(context, shape, sum_positions<N>, from.data<float>(), sums.data<float>(), tiles);
      const bool applies_inner = inner_layer.function.is_known();
      if (!applies_inner) inner_layer.function = InnerFunction();
      enqueue(context, {{blocks_for(inner.size(), kExcitationThreads / kWarp)}, {kExcitationThreads}}, excitation_layer,
              sums.data<float>(), static_cast<int>(shape.grid.z), static_cast<float>(tiles.positions), inner_layer,
              inner.data<float>(), inner.size());
      if (!applies_inner) apply_function(functions->inner, inner, inner);
      const Array given =
          outer_layer.function.is_known() ? Array() : factors_of(context, inner, outer_layer, functions->outer);
      tiles.part = std::max<int64_t>(8 * tiles.rows, (tiles.positions + kMostGridZ - 1) / kMostGridZ);
      enqueue(context, tiles.shape(images, N), excite<N>, from.data<float>(), inner.data<float>(),
              given.is_defined() ? given.data<float>() : nullptr, outer_layer, result.data<float>(), tiles);
    }
  });
  result.finish();
}

}  // namespace

void register_squeeze_excitation(Backend& backend) { backend.add<kernels::SqueezeExcitation>(squeeze_excitation); }

}  // namespace kusari::cuda
