#include "kusari/framework/kernels/quantized_convolution.h"

#include <algorithm>

#include "kusari/cuda/kernels/byte_products.cuh"
#include "kusari/cuda/kernels/channels_last.h"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/quantized_convolution.cuh"
#include "kusari/cuda/libraries/kept_weights.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/pointwise.h"

// Convolutions of 8 bits. With x' = x - 128 of uint8 numbers and likewise W', all zero points moved along, a sum is
// sum (x' - x_zero)(W' - W_zero) = sum x' W' - W_zero sum x' - x_zero sum W' + terms x_zero W_zero, where what lies
// outside of the image is x_zero: products of int8 numbers on tensor cores, and sums of the rows and columns that are
// multiplied. Wrapping is no loss, as the result fits.
namespace kusari::cuda {
namespace {

constexpr int kTile = 64;   // positions and channels of y of a block
constexpr int kDepth = 64;  // terms that it multiplies at a time
constexpr int kTileThreads = 128;
constexpr int kPieces = kDepth / 16;                    // 16-byte pieces of a row
constexpr int kLoads = kTile * kPieces / kTileThreads;  // rows of which a thread loads a piece
constexpr int kRowsApart = kTileThreads / kPieces;      // from one of them to the next
constexpr int kSumRow = kTile + 4;                      // of the tile of sums; apart, so that banks differ
constexpr int kStep = kTile * kPieces;                  // pieces of a matrix in a buffer

using Piece = Pack<uint32_t, 4>;

/// Where the patch of a position begins.
struct Patch {
  const uint8_t* image;
  int32_t line, column;
  bool is_there;

  __device__ __forceinline__ Patch(const QuantizedProblem& p, uint32_t position, int32_t group) {
    const auto width = static_cast<uint32_t>(p.out[1]), size = static_cast<uint32_t>(p.out[0]) * width;
    is_there = position < p.positions;
    const uint32_t number = position / size, left = position - number * size, row = left / width;
    image = p.x + static_cast<int64_t>(number) * p.in[0] * p.in[1] * p.x_step +
            static_cast<int64_t>(group) * p.channels.value();
    line = static_cast<int32_t>(row) * p.stride[0] - p.pad[0];
    column = static_cast<int32_t>(left - row * width) * p.stride[1] - p.pad[1];
  }
  /// Its byte of term `term`; null outside of the image.
  __device__ __forceinline__ const uint8_t* at(const QuantizedProblem& p, uint32_t term) const {
    const uint32_t tap = p.channels.quotient(term), channel = term - tap * p.channels.value();
    const uint32_t i = p.kernel[1].quotient(tap), j = tap - i * p.kernel[1].value();
    const int32_t y = line + static_cast<int32_t>(i) * p.dilate[0], x = column + static_cast<int32_t>(j) * p.dilate[1];
    if (y < 0 || y >= p.in[0] || x < 0 || x >= p.in[1]) return nullptr;
    return image + (static_cast<int64_t>(y) * p.in[1] + x) * p.x_step + channel;
  }
};

/// 16 bytes by loads of kWidth: from(term) is where those of a term lie, null for `outside`; behind the last term there
/// are zeros.
template <int kWidth, class From>
__device__ __forceinline__ Piece load_piece(uint32_t term, uint32_t terms, uint32_t flip, uint32_t outside,
                                            const From& from) {
  Piece piece = {};
#pragma unroll
  for (int i = 0; i < 16 / kWidth; ++i) {
    const uint32_t own = term + static_cast<uint32_t>(i * kWidth);
    if (own >= terms) break;
    const uint8_t* const bytes = from(own);
    if constexpr (kWidth == 16) {
      if (bytes != nullptr) piece = load_pack<4>(reinterpret_cast<const uint32_t*>(bytes), 0);
#pragma unroll
      for (int k = 0; k < 4; ++k) piece.at[k] = bytes != nullptr ? piece.at[k] ^ flip : outside;
    } else if constexpr (kWidth == 4) {
      piece.at[i] = bytes != nullptr ? *reinterpret_cast<const uint32_t*>(bytes) ^ flip : outside;
    } else {
      const uint32_t byte = bytes != nullptr ? *bytes ^ (flip & 0xff) : outside & 0xff;
      piece.at[i / 4] |= byte << (8 * (i % 4));
    }
  }
  return piece;
}

__device__ __forceinline__ int32_t sum_of(const Piece& piece, int32_t sum) {
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = add_byte_products(piece.at[k], 0x01010101u, sum);
  return sum;
}

/// A block for a tile of positions and channels of a group. kWidth: bytes of x and of w that may be read at once.
/// kPacked: see QuantizedChannels.
template <int kWidth, bool kPacked>
__global__ void __launch_bounds__(kTileThreads) convolve_quantized(QuantizedProblem p) {
  __shared__ __align__(16) unsigned char memory[kTile * kSumRow * sizeof(int32_t)];
  __shared__ int32_t row_sums[kTile], column_sums[kTile];
  static_assert(sizeof(memory) >= 4 * kStep * sizeof(Piece));
  uint32_t* const tiles = reinterpret_cast<uint32_t*>(memory);  // rows and columns, twice
  const int thread = static_cast<int>(threadIdx.x), piece = thread % kPieces, first_row = thread / kPieces;
  const auto group = static_cast<int32_t>(blockIdx.z);
  const uint32_t first_position = blockIdx.x * kTile;
  const int32_t first_column = static_cast<int32_t>(blockIdx.y) * kTile;
  const int32_t x_zero = flipped_zero(p.x_zero[0], p.x_flip);
  const uint32_t outside = static_cast<uint32_t>(x_zero & 0xff) * 0x01010101u;
  const Patch patches[kLoads] = {Patch(p, first_position + first_row, group),
                                 Patch(p, first_position + first_row + kRowsApart, group)};
  const uint8_t* const weights = p.w + static_cast<int64_t>(group) * p.outs * p.terms;

  Piece x[kLoads], w[kLoads];
  int32_t row_sum[kLoads] = {}, column_sum[kLoads] = {};
  const auto load = [&](uint32_t step) {
    const uint32_t term = step * kDepth + static_cast<uint32_t>(piece) * 16;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int32_t o = first_column + first_row + i * kRowsApart;
      x[i] = load_piece<kWidth>(term, patches[i].is_there ? p.terms : 0, p.x_flip, outside,
                                [&](uint32_t own) { return patches[i].at(p, own); });
      w[i] = load_piece<kWidth>(term, o < p.outs ? p.terms : 0, p.w_flip, 0,
                                [&](uint32_t own) { return weights + static_cast<int64_t>(o) * p.terms + own; });
    }
  };
  const auto keep = [&](uint32_t step) {
    uint32_t* const to = tiles + (step % 2) * 2 * kStep * 4;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = (first_row + i * kRowsApart) * kPieces + piece;
      store_pack<4>(to, at, x[i]);
      store_pack<4>(to, kStep + at, w[i]);
      row_sum[i] = sum_of(x[i], row_sum[i]);
      column_sum[i] = sum_of(w[i], column_sum[i]);
    }
  };

  // Four warps, 32 positions and 32 channels each: two times four products of tensor cores.
  const int warp = thread / kWarp, lane = thread % kWarp, g = lane / 4, t = lane % 4;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  int32_t sum[2][4][4] = {};
  const auto multiply = [&](uint32_t step) {
    const uint32_t* const from = tiles + (step % 2) * 2 * kStep * 4;
    // A lane's 16 neighbouring terms, of both matrices, take the places of those that it has in two products.
    Piece rows[2][2], columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows[i / 2][i % 2] = load_pack<4>(from, (warp_row + i * 8 + g) * kPieces + t);
      columns[i] = load_pack<4>(from, kStep + (warp_column + i * 8 + g) * kPieces + t);
    }
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint32_t a[4] = {rows[i][0].at[k], rows[i][1].at[k], rows[i][0].at[k + 1], rows[i][1].at[k + 1]};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint32_t b[2] = {columns[j].at[k], columns[j].at[k + 1]};
          multiply_bytes(sum[i][j], a, b);
        }
      }
    }
  };

  const uint32_t steps = (p.terms + kDepth - 1) / kDepth;
  load(0);
  keep(0);
  __syncthreads();
  for (uint32_t step = 0; step < steps; ++step) {
    const bool has_next = step + 1 < steps;
    if (has_next) load(step + 1);
    multiply(step);
    if (has_next) keep(step + 1);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    for (int distance = 1; distance < kPieces; distance *= 2) {
      row_sum[i] += shuffle_xor(row_sum[i], distance);
      column_sum[i] += shuffle_xor(column_sum[i], distance);
    }
    if (piece == 0) row_sums[first_row + i * kRowsApart] = row_sum[i];
    if (piece == 0) column_sums[first_row + i * kRowsApart] = column_sum[i];
  }
  int32_t* const sums = reinterpret_cast<int32_t*>(memory);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = warp_row + i * 16 + k / 2 * 8 + g, column = warp_column + j * 8 + 2 * t + k % 2;
        sums[row * kSumRow + column] = sum[i][j][k];
      }
    }
  }
  __syncthreads();

  constexpr int kColumns = 4;  // of a thread
  const int own_column = thread % (kTile / kColumns) * kColumns, column = first_column + own_column;
  if (column >= p.outs) return;
  const int32_t first_channel = group * p.outs + column, count = p.outs - column;
  const QuantizedChannels<kColumns> channels(p, first_channel, count < kColumns ? count : kColumns);
  uint32_t w_zero[kColumns], start[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    w_zero[c] = c < count ? static_cast<uint32_t>(flipped_zero(p.w_zero[first_channel + c], p.w_flip)) : 0;
    start[c] =
        static_cast<uint32_t>(x_zero) * (p.terms * w_zero[c] - static_cast<uint32_t>(column_sums[own_column + c]));
  }
  for (int row = thread / (kTile / kColumns); row < kTile; row += kTileThreads / (kTile / kColumns)) {
    const uint32_t position = first_position + static_cast<uint32_t>(row);
    if (position >= p.positions) break;
    const Pack<int32_t, kColumns> some = load_pack<kColumns>(sums + row * kSumRow + own_column, 0);
    int32_t result[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      result[c] = static_cast<int32_t>(static_cast<uint32_t>(some.at[c]) + start[c] -
                                       w_zero[c] * static_cast<uint32_t>(row_sums[row]));
    }
    channels.template store<kPacked>(position, result);
  }
}

constexpr int kStripThreads = 256;
constexpr int kStrip = 4;  // positions of a line that a thread makes

/// Strips of packs of channels of a depthwise convolution.
struct QuantizedStrips {
  Divisor packs, in_line, lines;
  uint32_t total;
};

/// Each group has one channel of x and one of y. N: channels of a thread.
template <int N>
__global__ void __launch_bounds__(kStripThreads)
    convolve_quantized_depthwise(QuantizedProblem p, QuantizedStrips strips) {
  const uint32_t item = blockIdx.x * kStripThreads + threadIdx.x;
  if (item >= strips.total) return;
  const uint32_t strip = strips.packs.quotient(item), pack = item - strip * strips.packs.value();
  const uint32_t row = strips.in_line.quotient(strip), number = strip - row * strips.in_line.value();
  const uint32_t image = strips.lines.quotient(row), line = row - image * strips.lines.value();
  const auto channel = static_cast<int32_t>(pack) * N, first = static_cast<int32_t>(number) * kStrip;
  const int32_t x_zero = flipped_zero(p.x_zero[0], p.x_flip);
  int32_t w_zero[N], sum[kStrip][N] = {};
#pragma unroll
  for (int c = 0; c < N; ++c) w_zero[c] = flipped_zero(p.w_zero[channel + c], p.w_flip);
  const uint32_t height = p.kernel[0].value(), width = p.kernel[1].value();
  for (uint32_t i = 0; i < height; ++i) {
    const int32_t y = static_cast<int32_t>(line) * p.stride[0] - p.pad[0] + static_cast<int32_t>(i) * p.dilate[0];
    if (y < 0 || y >= p.in[0]) continue;
    const uint8_t* const from = p.x + (static_cast<int64_t>(image) * p.in[0] + y) * p.in[1] * p.x_step + channel;
    for (uint32_t j = 0; j < width; ++j) {
      int32_t w[N];
#pragma unroll
      for (int c = 0; c < N; ++c) {
        const int64_t tap = static_cast<int64_t>(channel + c) * p.terms + i * width + j;
        w[c] = flipped(p.w[tap], p.w_flip) - w_zero[c];
      }
#pragma unroll
      for (int k = 0; k < kStrip; ++k) {
        const int32_t x = (first + k) * p.stride[1] - p.pad[1] + static_cast<int32_t>(j) * p.dilate[1];
        if (x < 0 || x >= p.in[1]) continue;
        const Pack<uint8_t, N> some = load_pack<N>(from + static_cast<int64_t>(x) * p.x_step, 0);
#pragma unroll
        for (int c = 0; c < N; ++c) sum[k][c] += (flipped(some.at[c], p.x_flip) - x_zero) * w[c];
      }
    }
  }
  const QuantizedChannels<N> channels(p, channel, N);
#pragma unroll
  for (int k = 0; k < kStrip; ++k) {
    if (first + k >= p.out[1]) break;
    channels.template store<(N > 1)>(
        (image * static_cast<uint32_t>(p.out[0]) + line) * static_cast<uint32_t>(p.out[1]) +
            static_cast<uint32_t>(first + k),
        sum[k]);
  }
}

bool is_aligned_to(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

bool is_depthwise(const QuantizedProblem& p, int64_t groups) {
  return groups > 1 && p.channels.value() == 1 && p.outs == 1;
}

void run(Context& context, const QuantizedProblem& p, int64_t groups) {
  const bool is_packed = p.y_step % 4 == 0 && is_aligned_to(p.y, p.is_rounded ? 4 : 16) && is_aligned_to(p.z, 16);
  if (is_depthwise(p, groups)) {
    const bool has_packs = is_packed && is_aligned_to(p.x, 4);
    QuantizedStrips strips;
    strips.packs = Divisor(has_packs ? groups / 4 : groups);
    strips.in_line = Divisor((p.out[1] + kStrip - 1) / kStrip);
    strips.lines = Divisor(p.out[0]);
    strips.total = p.positions / static_cast<uint32_t>(p.out[1]) * strips.in_line.value() * strips.packs.value();
    return enqueue(context, {{blocks_for(strips.total, kStripThreads)}, {kStripThreads}},
                   has_packs ? &convolve_quantized_depthwise<4> : &convolve_quantized_depthwise<1>, p, strips);
  }
  const auto fits = [&](int64_t bytes) {
    return p.channels.value() % bytes == 0 && is_aligned_to(p.x, bytes) && is_aligned_to(p.w, bytes);
  };
  const bool stores_packs = is_packed && p.outs % 4 == 0;
  const auto kernel = [&]<int kWidth>() {
    return stores_packs ? &convolve_quantized<kWidth, true> : &convolve_quantized<kWidth, false>;
  };
  const LaunchShape shape = {{blocks_for(p.positions, kTile), blocks_for(p.outs, kTile), static_cast<unsigned>(groups)},
                             {kTileThreads}};
  enqueue(context, shape,
          fits(16) ? kernel.operator()<16>() : (fits(4) ? kernel.operator()<4>() : kernel.operator()<1>()), p);
}

QuantizedProblem problem_of(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y) {
  QuantizedProblem p = {};
  const auto flip_of = [](const Array& a) { return a.dtype() == Dtype::uint8 ? 0x80808080u : 0u; };
  p.x_flip = flip_of(x);
  p.w_flip = flip_of(W);
  for (int i = 0; i < 2; ++i) {
    const int axis = g.ndim - 2 + i;
    const bool is_there = axis >= 0;
    const auto size = [&](const Array& a) { return is_there ? static_cast<int32_t>(a.shape()[axis + 2]) : 1; };
    p.in[i] = size(x);
    p.out[i] = size(y);
    p.kernel[i] = Divisor(size(W));
    p.stride[i] = is_there ? static_cast<int32_t>(g.stride[axis]) : 1;
    p.pad[i] = is_there ? static_cast<int32_t>(g.pad[axis]) : 0;
    p.dilate[i] = is_there ? static_cast<int32_t>(g.dilate[axis]) : 1;
  }
  p.channels = Divisor(std::max<int64_t>(W.shape()[1], 1));
  p.terms = static_cast<uint32_t>(W.size() / W.shape()[0]);
  p.outs = static_cast<int32_t>(y.shape()[1] / g.groups);
  p.x_step = static_cast<int32_t>(x.shape()[1]);
  p.y_step = static_cast<int32_t>(y.shape()[1]);
  return p;
}

/// Numbers of a call in forms that kernels read.
struct QuantizedArrays {
  Array x, x_scale, x_zero, W, W_scale, W_zero, z, bias, y_scale, y_zero;
};

/// Images at a time: elements are counted in 31 bits.
void convolve_in_parts(const kernels::QuantizedConvolution& options, const QuantizedArrays& a, const Array& y) {
  const kernels::Convolution& g = options.geometry;
  Context& context = Context::of(y);
  QuantizedProblem p = problem_of(g, a.x, a.W, y);
  p.w = static_cast<const uint8_t*>(a.W.raw_data());
  p.x_scale = QuantizedNumbers(a.x_scale);
  p.x_zero = QuantizedNumbers(a.x_zero);
  p.w_scale = QuantizedNumbers(a.W_scale);
  p.w_zero = QuantizedNumbers(a.W_zero);
  p.bias = a.bias.is_defined() ? a.bias.data<float>() : nullptr;
  p.function = InnerFunction(options.function);
  p.is_rounded = kernels::has_8_bits(y);
  if (p.is_rounded) {
    p.rounding = {QuantizedNumbers(a.y_scale), QuantizedNumbers(a.y_zero), options.low, options.high};
  }
  const int64_t batch = y.shape()[0], size = int64_t{p.out[0]} * p.out[1];
  const int64_t most = std::max<int64_t>(1, kNarrow / (is_depthwise(p, g.groups) ? size * p.y_step : size));
  for (int64_t first = 0; first < batch; first += most) {
    const int64_t count = std::min(most, batch - first);
    p.x = static_cast<const uint8_t*>(a.x.slice(0, first, count).raw_data());
    p.z = a.z.is_defined() ? a.z.slice(0, first, count).data<float>() : nullptr;
    p.y = y.slice(0, first, count).raw_data();
    p.positions = static_cast<uint32_t>(count * size);
    run(context, p, g.groups);
  }
}

void quantized_convolution(Params<kernels::QuantizedConvolution> options, In x, In x_scale, In x_zero, In W, In W_scale,
                           In W_zero, In z, In bias, In y_scale, In y_zero, Out y) {
  if (y->size() == 0) return;
  kernels::check_quantized_convolution(*options, x, W, y);
  const auto numbers = [](const Array& a) { return a.is_defined() ? QuantizedNumbers::readable(a) : a; };
  const QuantizedArrays arrays = {
      channels_last_input(*x),
      numbers(*x_scale),
      numbers(*x_zero),
      kept_weights(*W, options->geometry.weights_are_fixed && !W->is_channels_last(), static_cast<int64_t>(W->dtype()),
                   [&] { return channels_last_input(*W); }),
      numbers(*W_scale),
      numbers(*W_zero),
      z->is_defined() ? channels_last_input(z->astype(Dtype::float32)) : Array(),
      bias->is_defined() ? bias->astype(Dtype::float32).contiguous() : Array(),
      numbers(*y_scale),
      numbers(*y_zero)};
  const ChannelsLastOutput result(*y);
  if (InnerFunction(options->function).is_known()) {
    convolve_in_parts(*options, arrays, result.array());
    return result.finish();
  }
  // The function and the rounding are kernels of their own.
  kernels::QuantizedConvolution sums = *options;
  sums.function = {};
  const bool is_rounded = kernels::has_8_bits(*y);
  const Array values = is_rounded
                           ? empty_strided(y->shape(), channels_last_strides(y->shape()), Dtype::float32, y->device())
                           : result.array();
  convolve_in_parts(sums, arrays, values);
  apply_function(options->function, values, values);
  if (is_rounded) {
    pointwise_to(result.array(), kernels::Quantize{options->low, options->high}, values, *y_scale, *y_zero);
  }
  result.finish();
}

}  // namespace

void register_quantized_convolution(Backend& backend) {
  backend.add<kernels::QuantizedConvolutionForward>(quantized_convolution);
}

}  // namespace kusari::cuda
