#include "kusari/cuda/kernels/convolution_depthwise.h"

#include <algorithm>

#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"

// Channels-last images, so that neighbouring threads have neighbouring channels. Memory bounds all of this: a thread of
// the 3x3 kernels makes several neighbours along a line, which share what they read. Other sizes go through loops that
// take any geometry.
namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTaps = 9;
constexpr int kStrip = 4;  // positions of a line that a thread makes at a time
constexpr int kFinishThreads = 1024;

// Channels of a thread: with eight of a half type, the weights and sums would leave a multiprocessor few threads.
constexpr int channels_of_thread(int64_t element_bytes) { return element_bytes == 8 ? 2 : 4; }
template <class T>
constexpr int kChannels = channels_of_thread(sizeof(T));

// One channel's plane of the two images, and how blocks are laid over channels.
struct Plane {
  int32_t in[2], out[2], kernel[2], stride[2], pad[2], dilate[2];
  int64_t batch, channels;
};

// Strips along the lines of an image of `size`, and threads over them: `lanes` neighbouring threads have neighbouring
// packs of channels.
struct Strips {
  uint32_t total, packs;
  Divisor in_line, lines, lanes;
};

Strips strips_of(const Plane& p, const int32_t* size, int64_t in_line, int64_t packs) {
  Strips strips;
  strips.total = static_cast<uint32_t>(p.batch * size[0] * in_line);
  strips.packs = static_cast<uint32_t>(packs);
  strips.in_line = Divisor(in_line);
  strips.lines = Divisor(size[0]);
  strips.lanes = Divisor(std::min<int64_t>(packs, kThreads));
  return strips;
}
LaunchShape shape_of(const Context& context, const Strips& strips) {
  const int64_t lanes = strips.lanes.value(), across = (strips.packs + lanes - 1) / lanes;
  const int64_t most = std::max<int64_t>(1, context.facts().multiprocessors * 16 / across);
  return {{blocks_for(strips.total, kThreads / lanes, most), static_cast<unsigned>(across)}, {kThreads}};
}

// A thread's pack of channels and first strip.
struct Place {
  uint32_t pack, strip, step;
  bool is_idle;
};
__device__ __forceinline__ Place place_of(const Strips& strips) {
  const uint32_t sub = strips.lanes.quotient(threadIdx.x), lane = threadIdx.x - sub * strips.lanes.value();
  const uint32_t subs = strips.lanes.quotient(kThreads), pack = blockIdx.y * strips.lanes.value() + lane;
  return {pack, blockIdx.x * subs + sub, gridDim.x * subs, sub >= subs || pack >= strips.packs};
}
struct StripPlace {
  int32_t image, line, number;
};
__device__ __forceinline__ StripPlace strip_place(const Strips& strips, uint32_t strip) {
  const uint32_t line = strips.in_line.quotient(strip), image = strips.lines.quotient(line);
  return {static_cast<int32_t>(image), static_cast<int32_t>(line - image * strips.lines.value()),
          static_cast<int32_t>(strip - line * strips.in_line.value())};
}

// The nine weights of each channel of a pack: they are neighbours in memory.
template <class T, int N>
struct Weights {
  Pack<T, N> packs[kTaps];
  __device__ __forceinline__ Weights(const T* weights, uint32_t pack) {
#pragma unroll
    for (int i = 0; i < kTaps; ++i) packs[i] = load_pack<N>(weights, static_cast<int64_t>(pack) * kTaps + i);
  }
  __device__ __forceinline__ Compute<T> at(int channel, int tap) const {
    const int i = channel * kTaps + tap;
    return widen(packs[i / N].at[i % N]);
  }
};

template <class T, int N>
__device__ __forceinline__ void store_strip(T* line, int32_t width, int32_t first, uint32_t packs, uint32_t pack,
                                            const Compute<T> (&sum)[kStrip][N]) {
#pragma unroll
  for (int i = 0; i < kStrip; ++i) {
    if (first + i < 0 || first + i >= width) continue;
    Pack<T, N> result;
#pragma unroll
    for (int c = 0; c < N; ++c) result.at[c] = narrow<T>(sum[i][c]);
    store_pack<N>(line, static_cast<int64_t>(first + i) * packs + pack, result);
  }
}

template <class T, int N>
__device__ __forceinline__ void start_sums(Compute<T> (&sum)[kStrip][N], const T* bias, uint32_t pack) {
#pragma unroll
  for (int c = 0; c < N; ++c) {
    const Compute<T> start = bias != nullptr ? widen(bias[pack * N + c]) : Compute<T>{0};
#pragma unroll
    for (int i = 0; i < kStrip; ++i) sum[i][c] = start;
  }
}

// The packs at positions first, first + 1, ... of a line; those outside of it stay as they are.
template <class T, int N, int kCount>
__device__ __forceinline__ void load_line(Pack<T, N> (&values)[kCount], const T* line, int32_t first, int32_t size,
                                          int64_t packs, int64_t pack) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (first + i >= 0 && first + i < size) values[i] = load_pack<N>(line, (first + i) * packs + pack);
  }
}

// 3x3: y from x; with kFlipped and stride 1, gx from gy. in and out are of what is read and written.
template <class T, int kStride, bool kFlipped>
__global__ void __launch_bounds__(kThreads, 2)
    correlate(const T* x, const T* weights, const T* bias, T* y, Plane p, Strips strips) {
  constexpr int N = kChannels<T>;
  const Place place = place_of(strips);
  if (place.is_idle) return;
  const Weights<T, N> w(weights, place.pack);
  for (uint32_t strip = place.strip; strip < strips.total; strip += place.step) {
    const StripPlace at = strip_place(strips, strip);
    const int32_t first = at.number * kStrip, left = first * kStride - p.pad[1];
    Compute<T> sum[kStrip][N];
    start_sums(sum, bias, place.pack);
#pragma unroll
    for (int row = 0; row < 3; ++row) {
      const int32_t source = at.line * kStride - p.pad[0] + row;
      if (source < 0 || source >= p.in[0]) continue;
      const T* const line = x + (static_cast<int64_t>(at.image) * p.in[0] + source) * p.in[1] * p.channels;
      Pack<T, N> values[(kStrip - 1) * kStride + 3] = {};
      load_line(values, line, left, p.in[1], strips.packs, place.pack);
#pragma unroll
      for (int i = 0; i < kStrip; ++i) {
#pragma unroll
        for (int column = 0; column < 3; ++column) {
          const int tap = row * 3 + column;
#pragma unroll
          for (int c = 0; c < N; ++c)
            sum[i][c] += widen(values[i * kStride + column].at[c]) * w.at(c, kFlipped ? kTaps - 1 - tap : tap);
        }
      }
    }
    T* const target = y + (static_cast<int64_t>(at.image) * p.out[0] + at.line) * p.out[1] * p.channels;
    store_strip(target, p.out[1], first, strips.packs, place.pack, sum);
  }
}

// 3x3 of stride 2: gx from gy. Strips begin where position + pad is even, so that which of the kernel's columns meet
// which position is known beforehand.
template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    spread(const T* gy, const T* weights, const T* bias, T* gx, Plane p, Strips strips) {
  constexpr int N = kChannels<T>;
  const Place place = place_of(strips);
  if (place.is_idle) return;
  const Weights<T, N> w(weights, place.pack);
  for (uint32_t strip = place.strip; strip < strips.total; strip += place.step) {
    const StripPlace at = strip_place(strips, strip);
    const int32_t first = at.number * kStrip - p.pad[1] % 2, base = (first + p.pad[1]) / 2;
    Compute<T> sum[kStrip][N];
    start_sums(sum, bias, place.pack);
#pragma unroll
    for (int row = 0; row < 3; ++row) {
      const int32_t twice = at.line + p.pad[0] - row;
      if (twice < 0 || twice % 2 != 0 || twice / 2 >= p.out[0]) continue;
      const T* const line = gy + (static_cast<int64_t>(at.image) * p.out[0] + twice / 2) * p.out[1] * p.channels;
      Pack<T, N> values[3] = {};  // at base - 1, base, base + 1
      load_line(values, line, base - 1, p.out[1], strips.packs, place.pack);
#pragma unroll
      for (int i = 0; i < kStrip; ++i) {
#pragma unroll
        for (int column = i % 2; column < 3; column += 2) {
          const int source = (i - column) / 2 + 1;  // i - column is even
#pragma unroll
          for (int c = 0; c < N; ++c) sum[i][c] += widen(values[source].at[c]) * w.at(c, row * 3 + column);
        }
      }
    }
    T* const target = gx + (static_cast<int64_t>(at.image) * p.in[0] + at.line) * p.in[1] * p.channels;
    store_strip(target, p.in[1], first, strips.packs, place.pack, sum);
  }
}

// 3x3: the sums of one block over its strips, as partial[block][tap][channel].
template <class T, int kStride>
__global__ void __launch_bounds__(kThreads, 2)
    filter_sums(const T* x, const T* gy, Compute<T>* partial, Plane p, Strips strips) {
  constexpr int N = kChannels<T>;
  __shared__ Compute<T> shared[kThreads][N];
  const Place place = place_of(strips);
  Compute<T> sum[kTaps][N] = {};
  for (uint32_t strip = place.is_idle ? strips.total : place.strip; strip < strips.total; strip += place.step) {
    const StripPlace at = strip_place(strips, strip);
    const int32_t first = at.number * kStrip, left = first * kStride - p.pad[1];
    const T* const target = gy + (static_cast<int64_t>(at.image) * p.out[0] + at.line) * p.out[1] * p.channels;
    Pack<T, N> gradients[kStrip] = {};
#pragma unroll
    for (int i = 0; i < kStrip; ++i) {
      if (first + i < p.out[1]) {
        gradients[i] = load_pack<N>(target, static_cast<int64_t>(first + i) * strips.packs + place.pack);
      }
    }
#pragma unroll
    for (int row = 0; row < 3; ++row) {
      const int32_t source = at.line * kStride - p.pad[0] + row;
      if (source < 0 || source >= p.in[0]) continue;
      const T* const line = x + (static_cast<int64_t>(at.image) * p.in[0] + source) * p.in[1] * p.channels;
      Pack<T, N> values[(kStrip - 1) * kStride + 3] = {};
      load_line(values, line, left, p.in[1], strips.packs, place.pack);
#pragma unroll
      for (int i = 0; i < kStrip; ++i) {
#pragma unroll
        for (int column = 0; column < 3; ++column) {
#pragma unroll
          for (int c = 0; c < N; ++c)
            sum[row * 3 + column][c] += widen(values[i * kStride + column].at[c]) * widen(gradients[i].at[c]);
        }
      }
    }
  }
  const uint32_t lanes = strips.lanes.value(), subs = strips.lanes.quotient(kThreads);
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    __syncthreads();  // the sums of the last tap have been read
    for (int c = 0; c < N; ++c) shared[threadIdx.x][c] = sum[tap][c];
    __syncthreads();
    if (threadIdx.x >= lanes || place.pack >= strips.packs) continue;
    for (int c = 0; c < N; ++c) {
      Compute<T> total = 0;
      for (uint32_t sub = 0; sub < subs; ++sub) total += shared[sub * lanes + threadIdx.x][c];
      partial[(static_cast<int64_t>(blockIdx.x) * kTaps + tap) * p.channels + place.pack * N + c] = total;
    }
  }
}

// gW[channel][tap] = the sum over parts of partial[part][tap][channel], in order. A block sums one tap of a warp's
// width of channels.
template <class T>
__global__ void __launch_bounds__(kFinishThreads)
    finish_filter(const Compute<T>* partial, T* gw, int64_t channels, int taps, int parts) {
  constexpr int kWarps = kFinishThreads / kWarp;
  __shared__ Compute<T> shared[kWarps][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int tap = static_cast<int>(blockIdx.x);
  const int64_t channel = static_cast<int64_t>(blockIdx.y) * kWarp + lane;
  Compute<T> sum = 0;
  if (channel < channels) {
#pragma unroll 4
    for (int part = warp; part < parts; part += kWarps)
      sum += partial[(static_cast<int64_t>(part) * taps + tap) * channels + channel];
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || channel >= channels) return;
  for (int other = 1; other < kWarps; ++other) sum += shared[other][lane];
  gw[channel * taps + tap] = narrow<T>(sum);
}

// Any geometry: y from x, a thread for each element.
template <class T>
__global__ void __launch_bounds__(kThreads)
    correlate_any(const T* x, const T* weights, const T* bias, T* y, Plane p, int64_t elements) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < elements; i += step) {
    const int64_t channel = i % p.channels, position = i / p.channels;
    const auto column = static_cast<int32_t>(position % p.out[1]);
    const auto row = static_cast<int32_t>(position / p.out[1] % p.out[0]);
    const int64_t image = position / p.out[1] / p.out[0];
    Compute<T> sum = bias != nullptr ? widen(bias[channel]) : Compute<T>{0};
    for (int32_t k = 0; k < p.kernel[0]; ++k) {
      const int32_t source = row * p.stride[0] - p.pad[0] + k * p.dilate[0];
      if (source < 0 || source >= p.in[0]) continue;
      for (int32_t l = 0; l < p.kernel[1]; ++l) {
        const int32_t at = column * p.stride[1] - p.pad[1] + l * p.dilate[1];
        if (at < 0 || at >= p.in[1]) continue;
        sum += widen(x[((image * p.in[0] + source) * p.in[1] + at) * p.channels + channel]) *
               widen(weights[(channel * p.kernel[0] + k) * p.kernel[1] + l]);
      }
    }
    y[i] = narrow<T>(sum);
  }
}

// Any geometry: gx from gy, a thread for each element.
template <class T>
__global__ void __launch_bounds__(kThreads)
    spread_any(const T* gy, const T* weights, const T* bias, T* gx, Plane p, int64_t elements) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < elements; i += step) {
    const int64_t channel = i % p.channels, position = i / p.channels;
    const auto column = static_cast<int32_t>(position % p.in[1]);
    const auto row = static_cast<int32_t>(position / p.in[1] % p.in[0]);
    const int64_t image = position / p.in[1] / p.in[0];
    Compute<T> sum = bias != nullptr ? widen(bias[channel]) : Compute<T>{0};
    for (int32_t k = 0; k < p.kernel[0]; ++k) {
      const int32_t down = row + p.pad[0] - k * p.dilate[0];
      if (down < 0 || down % p.stride[0] != 0 || down / p.stride[0] >= p.out[0]) continue;
      for (int32_t l = 0; l < p.kernel[1]; ++l) {
        const int32_t across = column + p.pad[1] - l * p.dilate[1];
        if (across < 0 || across % p.stride[1] != 0 || across / p.stride[1] >= p.out[1]) continue;
        const int64_t source = (image * p.out[0] + down / p.stride[0]) * p.out[1] + across / p.stride[1];
        sum += widen(gy[source * p.channels + channel]) * widen(weights[(channel * p.kernel[0] + k) * p.kernel[1] + l]);
      }
    }
    gx[i] = narrow<T>(sum);
  }
}

// Any geometry: the sums of one tap and a warp's width of channels over lines part, part + parts, ... of y, as
// partial[part][tap][channel].
template <class T>
__global__ void __launch_bounds__(kThreads)
    filter_sums_any(const T* x, const T* gy, Compute<T>* partial, Plane p, int parts) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ Compute<T> shared[kWarps][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t k = static_cast<int32_t>(blockIdx.x) / p.kernel[1], l = static_cast<int32_t>(blockIdx.x) % p.kernel[1];
  const int64_t channel = static_cast<int64_t>(blockIdx.y) * kWarp + lane;
  Compute<T> sum = 0;
  for (int64_t line = blockIdx.z; line < p.batch * p.out[0]; line += parts) {
    const int64_t image = line / p.out[0];
    const auto source = static_cast<int32_t>(line % p.out[0]) * p.stride[0] - p.pad[0] + k * p.dilate[0];
    if (source < 0 || source >= p.in[0] || channel >= p.channels) continue;
    for (int32_t column = warp; column < p.out[1]; column += kWarps) {
      const int32_t at = column * p.stride[1] - p.pad[1] + l * p.dilate[1];
      if (at < 0 || at >= p.in[1]) continue;
      sum += widen(x[((image * p.in[0] + source) * p.in[1] + at) * p.channels + channel]) *
             widen(gy[(line * p.out[1] + column) * p.channels + channel]);
    }
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || channel >= p.channels) return;
  for (int other = 1; other < kWarps; ++other) sum += shared[other][lane];
  partial[(static_cast<int64_t>(blockIdx.z) * gridDim.x + blockIdx.x) * p.channels + channel] = sum;
}

Plane plane_of(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y) {
  Plane p;
  p.batch = x.shape()[0];
  p.channels = x.shape()[1];
  for (int i = 0; i < 2; ++i) {
    p.in[i] = static_cast<int32_t>(x.shape()[i + 2]);
    p.out[i] = static_cast<int32_t>(y.shape()[i + 2]);
    p.kernel[i] = static_cast<int32_t>(W.shape()[i + 2]);
    p.stride[i] = static_cast<int32_t>(g.stride[i]);
    p.pad[i] = static_cast<int32_t>(g.pad[i]);
    p.dilate[i] = static_cast<int32_t>(g.dilate[i]);
  }
  return p;
}

bool is_packed(const Array& a, int64_t pack) {
  return reinterpret_cast<uintptr_t>(a.raw_data()) % static_cast<uintptr_t>(pack * itemsize(a.dtype())) == 0;
}
LaunchShape elementwise(const Context& context, int64_t elements) {
  return {{blocks_for(elements, kThreads, context.facts().multiprocessors * 32)}, {kThreads}};
}

}  // namespace

bool depthwise_supported(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y) {
  constexpr int64_t kMostPositions = 0x7fffffff;
  if (g.ndim != 2 || g.groups != x.shape()[1] || g.groups != y.shape()[1] || !x.is_floating()) return false;
  return W.dtype() == x.dtype() && y.dtype() == x.dtype() && x.is_channels_last() && y.is_channels_last() &&
         W.is_contiguous() && x.size() > 0 && y.size() > 0 && W.size() > 0 && x.size() / g.groups < kMostPositions &&
         y.size() / g.groups < kMostPositions;
}

bool depthwise_is_direct(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y) {
  const int64_t pack = channels_of_thread(itemsize(x.dtype()));
  const bool is_square = W.shape()[2] == 3 && W.shape()[3] == 3 && g.stride[0] == g.stride[1] && g.stride[0] <= 2 &&
                         g.dilate[0] == 1 && g.dilate[1] == 1 && g.pad[0] <= 2 && g.pad[1] <= 2;
  return is_square && x.shape()[1] % pack == 0 && is_packed(x, pack) && is_packed(W, pack) && is_packed(y, pack);
}

void depthwise_forward(const kernels::Convolution& g, const Array& x, const Array& W, const Array& bias,
                       const Array& y) {
  Context& context = Context::of(x);
  const Plane p = plane_of(g, x, W, y);
  visit_floating(x.dtype(), [&]<class T>() {
    const T* const b = bias.is_defined() ? bias.data<T>() : nullptr;
    if (!depthwise_is_direct(g, x, W, y)) {
      return enqueue(context, elementwise(context, y.size()), &correlate_any<T>, x.data<T>(), W.data<T>(), b,
                     y.data<T>(), p, y.size());
    }
    const Strips strips = strips_of(p, p.out, (p.out[1] + kStrip - 1) / kStrip, p.channels / kChannels<T>);
    enqueue(context, shape_of(context, strips), g.stride[0] == 1 ? &correlate<T, 1, false> : &correlate<T, 2, false>,
            x.data<T>(), W.data<T>(), b, y.data<T>(), p, strips);
  });
}

void depthwise_data_grad(const kernels::Convolution& g, const Array& gy, const Array& W, const Array& bias,
                         const Array& gx) {
  Context& context = Context::of(gx);
  const Plane p = plane_of(g, gx, W, gy);
  visit_floating(gx.dtype(), [&]<class T>() {
    const T* const b = bias.is_defined() ? bias.data<T>() : nullptr;
    if (!depthwise_is_direct(g, gx, W, gy)) {
      return enqueue(context, elementwise(context, gx.size()), &spread_any<T>, gy.data<T>(), W.data<T>(), b,
                     gx.data<T>(), p, gx.size());
    }
    const int64_t packs = p.channels / kChannels<T>;
    if (g.stride[0] == 2) {
      const Strips strips = strips_of(p, p.in, (p.in[1] + p.pad[1] % 2 + kStrip - 1) / kStrip, packs);
      return enqueue(context, shape_of(context, strips), &spread<T>, gy.data<T>(), W.data<T>(), b, gx.data<T>(), p,
                     strips);
    }
    Plane flipped = p;
    for (int i = 0; i < 2; ++i) {
      flipped.in[i] = p.out[i];
      flipped.out[i] = p.in[i];
      flipped.pad[i] = p.kernel[i] - 1 - p.pad[i];
    }
    const Strips strips = strips_of(flipped, flipped.out, (flipped.out[1] + kStrip - 1) / kStrip, packs);
    enqueue(context, shape_of(context, strips), &correlate<T, 1, true>, gy.data<T>(), W.data<T>(), b, gx.data<T>(),
            flipped, strips);
  });
}

void depthwise_filter_grad(const kernels::Convolution& g, const Array& x, const Array& gy, const Array& gW) {
  Context& context = Context::of(x);
  const Plane p = plane_of(g, x, gW, gy);
  visit_floating(x.dtype(), [&]<class T>() {
    const int taps = p.kernel[0] * p.kernel[1];
    const auto chunks = static_cast<unsigned>((p.channels + kWarp - 1) / kWarp);
    const auto partial_bytes = [&](int64_t parts) {
      return static_cast<size_t>(parts * taps * p.channels) * sizeof(Compute<T>);
    };
    const auto finish = [&](const Scratch& partial, int parts) {
      const LaunchShape shape = {{static_cast<unsigned>(taps), chunks}, {kFinishThreads}};
      enqueue(context, shape, &finish_filter<T>, static_cast<const Compute<T>*>(partial.data<Compute<T>>()),
              gW.data<T>(), p.channels, taps, parts);
    };
    if (!depthwise_is_direct(g, x, gW, gy)) {
      const int parts =
          static_cast<int>(std::clamp<int64_t>(context.facts().multiprocessors * 8 / (int64_t{taps} * chunks), 1,
                                               std::min<int64_t>(p.batch * p.out[0], 512)));
      const Scratch partial(context, partial_bytes(parts));
      const LaunchShape shape = {{static_cast<unsigned>(taps), chunks, static_cast<unsigned>(parts)}, {kThreads}};
      enqueue(context, shape, &filter_sums_any<T>, x.data<T>(), gy.data<T>(), partial.data<Compute<T>>(), p, parts);
      return finish(partial, parts);
    }
    const Strips strips = strips_of(p, p.out, (p.out[1] + kStrip - 1) / kStrip, p.channels / kChannels<T>);
    LaunchShape shape = shape_of(context, strips);
    // Two blocks fit a multiprocessor at a time; more would only make more partial sums.
    shape.grid.x = std::min(shape.grid.x, std::max(1u, context.facts().multiprocessors * 2 / shape.grid.y));
    const Scratch partial(context, partial_bytes(shape.grid.x));
    enqueue(context, shape, g.stride[0] == 1 ? &filter_sums<T, 1> : &filter_sums<T, 2>, x.data<T>(), gy.data<T>(),
            partial.data<Compute<T>>(), p, strips);
    finish(partial, static_cast<int>(shape.grid.x));
  });
}

}  // namespace kusari::cuda
