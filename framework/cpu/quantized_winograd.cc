#include "kusari/framework/cpu/isa/quantized_winograd.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/convolution_packed.h"
#include "kusari/framework/cpu/convolution_winograd.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/quantized_call.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kPlaces = kQuantizedWinogradPlaces, kStep = kQuantizedWinogradChannels;
constexpr int64_t kTile = 2;
// Four times a sum fits 32 bits: 4 x 9 x 255 x 255 x 896 is below 2^31.
constexpr int64_t kMostChannels = 896;
constexpr int64_t kCachedInput = int64_t{1} << 18;  // transformed numbers, of 16 bits, of the tiles of a block
constexpr int64_t kTilesOfATask = 48;
constexpr int64_t kColumnsOfATask = 32;

const QuantizedWinogradLoops& loops() {
  static const QuantizedWinogradLoops& chosen = *KUSARI_LOOPS(isa(), quantized_winograd_loops);
  return chosen;
}

/// One dimension of 2 G: of three weights, `step` apart, of each of `n` channels.
void transform_line(const int16_t* w, int64_t step, int64_t n, int16_t* u, int64_t to_step) {
  for (int64_t c = 0; c < n; ++c) {
    const int first = w[c], middle = w[step + c], last = w[2 * step + c];
    u[c] = static_cast<int16_t>(2 * first);
    u[to_step + c] = static_cast<int16_t>(first + last + middle);
    u[2 * to_step + c] = static_cast<int16_t>(first + last - middle);
    u[3 * to_step + c] = static_cast<int16_t>(2 * last);
  }
}

/// 4 G w G^T of the weights without their zero points: for each place the packed weights of a product.
PackedWeights transformed_weights(const ConvolutionProblem& p, const QuantizedCall& call) {
  static constexpr char kKey = 0;  // its address is the key
  constexpr int64_t kTaps = 9, kBetween = 12;
  const int64_t channels = p.in_channels, outs = p.out_channels, columns = packed_loops().columns;
  const auto bytes = static_cast<size_t>(kPlaces * channels * outs) * sizeof(int16_t);
  return PackedWeights(
      call.options.geometry.weights_are_fixed ? &call.W : nullptr, &kKey, variant_of(p, call.W_zeros), bytes,
      [&](void* to) {
        const Array W = with_channels_innermost(call.W);
        const bool is_signed = W.dtype() == Dtype::int8;
        run_tasks(outs / kStep, [&](int64_t task) {
          const Scratch<int16_t> scratch((kTaps + kBetween + kPlaces) * channels);
          int16_t* const w = scratch.get();
          int16_t* const between = w + kTaps * channels;
          int16_t* const u = between + kBetween * channels;
          for (int64_t o = task * kStep; o < (task + 1) * kStep; ++o) {
            const auto zero = static_cast<int>(call.W_zeros.data<float>()[o]);
            const int64_t from = o * kTaps * channels;
            quantization().widen(W.data<char>() + from, is_signed, zero, kTaps, channels, channels, w);
            for (int64_t j = 0; j < 3; ++j) {
              transform_line(w + j * channels, 3 * channels, channels, between + j * channels, 3 * channels);
            }
            for (int64_t i = 0; i < 4; ++i) {
              transform_line(between + 3 * i * channels, channels, channels, u + 4 * i * channels, channels);
            }
            for (int64_t place = 0; place < kPlaces; ++place) {  // pairs of channels
              auto* const packed = static_cast<int16_t*>(to) + (place * outs + o / columns * columns) * channels;
              for (int64_t c = 0; c < channels; c += 2) {
                std::memcpy(packed + c * columns + o % columns * 2, u + place * channels + c, 2 * sizeof(int16_t));
              }
            }
          }
        });
      });
}

/// The product of one place: some tiles of a block, and the columns of a task.
PackedConvolution product_of_place(int64_t channels, int64_t tiles) {
  PackedConvolution product = {};
  product.height = product.out_height = 1;
  product.width = product.out_width = tiles;
  for (int i = 0; i < 2; ++i) product.kernel[i] = product.stride[i] = product.dilate[i] = 1;
  product.depth = product.x_step = channels / 2;
  product.x_line = product.x_image = tiles * product.x_step;
  product.outs = product.y_step = kColumnsOfATask;
  return product;
}

bool is_within(const Array& x, int zero) {
  return x.dtype() == Dtype::int8 ? zero >= -128 && zero <= 127 : zero >= 0 && zero <= 255;
}

bool is_worthwhile(const ConvolutionProblem& p, const QuantizedCall& call) {
  const bool fits = p.ndim == 2 && p.groups == 1 && p.in_channels % kStep == 0 && p.out_channels % kStep == 0 &&
                    p.in_channels <= kMostChannels && is_within(call.x, call.x_zero);
  if (!fits) return false;
  for (int i = 0; i < 2; ++i) {
    if (p.kernel[i] != 3 || p.stride[i] != 1 || p.dilate[i] != 1) return false;
  }
  // Tiles that reach beyond y are computed whole, and transformations take time.
  const WinogradTiles tiles(p.batch, p.out[0], p.out[1], kTile);
  return 16 * tiles.count * 3 < 9 * p.batch * p.out[0] * p.out[1] * 2;
}

}  // namespace

bool convolve_quantized_winograd(const ConvolutionProblem& p, const QuantizedCall& given) {
  if (!is_worthwhile(p, given)) return false;
  PackedConvolution call = packed_geometry(p, p.in_channels);
  QuantizedTarget target = given.target;
  if (p.has_function != 0 && call.range.cut == ResultCut::none) return false;
  PackedRounding rounding;
  if (given.is_narrow()) {
    cut_integers(call.range, target);
    rounding = rounding_to(target);
    call.rounding = &rounding;
  }
  given.give_channels(call, 0);
  const int64_t channels = p.in_channels, outs = p.out_channels;
  const PackedWeights weights = transformed_weights(p, given);
  const auto* const u = static_cast<const int16_t*>(weights.get());
  const bool is_signed = given.x.dtype() == Dtype::int8;
  const WinogradImages<unsigned char> x = {static_cast<unsigned char*>(given.x.raw_data()), p.in[0], p.in[1], channels};
  const WinogradTiles tiles(p.batch, p.out[0], p.out[1], kTile);
  const int64_t block = std::min(tiles.count, std::max(kTilesOfATask, kCachedInput / (kPlaces * channels)));
  const int64_t v_stride = winograd_place_stride<int16_t>(block * channels);
  const Scratch<int16_t> v(kPlaces * v_stride);
  const Scratch<unsigned char> outside(channels);
  std::fill_n(outside.get(), channels, static_cast<unsigned char>(given.x_zero));
  const int64_t strips = outs / kColumnsOfATask;
  for (int64_t first = 0; first < tiles.count; first += block) {
    const int64_t count = std::min(block, tiles.count - first);
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        unsigned char* addresses[kPlaces];
        tiles.addresses<4>(x, first + t, p.pad[0], p.pad[1], outside.get(), addresses);
        loops().input(addresses, is_signed, given.x_zero, channels, v.get() + t * channels, v_stride);
      }
    });
    const int64_t parts = ceil_divide(count, kTilesOfATask), part = ceil_divide(count, parts);
    run_tasks(strips * parts, [&](int64_t task) {
      const int64_t t = task % parts * part, n = std::min(part, count - t), column = task / parts * kColumnsOfATask;
      if (n <= 0) return;
      const Scratch<int32_t> m(kPlaces * n * kColumnsOfATask);
      const Scratch<const void*> addresses(n + 2 * packed_loops().rows);
      PackedConvolution product = product_of_place(channels, n);
      for (int64_t place = 0; place < kPlaces; ++place) {
        product.x = v.get() + place * v_stride + t * channels;
        product.w = u + (place * outs + column) * channels;
        product.y = reinterpret_cast<float*>(m.get()) + place * n * kColumnsOfATask;
        packed_loops().run_pairs(product, 0, n, 0, kColumnsOfATask / packed_loops().columns, addresses.get());
      }
      loops().output(call, m.get(), first + t, first + t + n, column, kColumnsOfATask);
    });
  }
  return true;
}

}  // namespace kusari::cpu
