#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/bfloat16_gemm.h"
#include "kusari/framework/cpu/convolution_winograd.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/bfloat16_winograd.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using Bits = unsigned short;
using Images = WinogradImages<Bits>;
using Tiles = WinogradTiles;

constexpr int64_t kPlaces = kWinogradPlaces, kPanel = kBfloat16Panel;

const Bfloat16WinogradLoops& loops() {
  static const Bfloat16WinogradLoops& chosen = *KUSARI_BFLOAT16_LOOPS(bfloat16_winograd_loops);
  return chosen;
}
const WinogradLoops& float32_loops() {
  static const WinogradLoops& chosen = *KUSARI_LOOPS(isa(), winograd_loops);
  return chosen;
}

int64_t place_stride(int64_t elements) { return winograd_place_stride<Bits>(elements); }

// Tiles whose transformed channels of x fit half the second-level cache, or so many that the weights are not read too
// often.
int64_t tiles_of_a_block(const Tiles& tiles, int64_t rows) {
  constexpr int64_t kCached = 512 << 10, kFewest = 64;
  return std::min(tiles.count, std::max(kFewest, kCached / (kPlaces * rows * int64_t{sizeof(Bits)})));
}
constexpr int64_t kTilesOfAChunk = 64;  // the products of a chunk and panel fit a third of the second-level cache

// Target = source filtered with the transformed weights u, + bias + z. The source lies `before` the
// target by that many positions; z is laid out like the target; then comes what `epilogue` says of y.
void filter_images(const Images& source, const Images& target, int64_t batch, int64_t before_row, int64_t before_column,
                   const Bits* u, const float* bias, Bits* z = nullptr, const ConvolutionProblem* epilogue = nullptr) {
  const bool relu = epilogue != nullptr && epilogue->relu != 0;
  const bool has_function = epilogue != nullptr && epilogue->has_function != 0;
  const Tiles tiles(batch, target.height, target.width);
  const Images addend = {z, target.height, target.width, target.channels};
  const int64_t rows = source.channels, columns = target.channels, panels = columns / kPanel;
  const int64_t block = tiles_of_a_block(tiles, rows), v_stride = place_stride(block * rows);
  const int64_t u_stride = place_stride(rows * kPanel);
  const Scratch<Bits> scratch(kPlaces * v_stride + rows);
  Bits* const v = scratch.get();
  Bits* const zeros = v + kPlaces * v_stride;
  std::fill_n(zeros, rows, Bits{0});
  for (int64_t first = 0; first < tiles.count; first += block) {
    const int64_t count = std::min(block, tiles.count - first);
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        Bits* addresses[36];
        tiles.addresses<6>(source, first + t, before_row, before_column, zeros, addresses);
        loops().input(addresses, rows, v + t * rows, v_stride);
      }
    });
    const int64_t chunks = (count + kTilesOfAChunk - 1) / kTilesOfAChunk;
    parallel_for(chunks * panels, 1, [&](int64_t begin, int64_t end) {
      const int64_t m_stride = winograd_place_stride<float>(std::min(count, kTilesOfAChunk) * kPanel);
      const Scratch<float> m(kPlaces * m_stride);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t panel = task % panels, start = task / panels * kTilesOfAChunk;
        const int64_t length = std::min(kTilesOfAChunk, count - start);
        for (int64_t place = 0; place < kPlaces; ++place) {
          bfloat16_gemm().multiply(v + place * v_stride + start * rows, rows, length, rows,
                                   u + (panel * kPlaces + place) * u_stride, kPanel, m.get() + place * m_stride, kPanel,
                                   false);
        }
        for (int64_t t = 0; t < length; ++t) {
          Bits *addresses[16], *addends[16];
          tiles.addresses<4>(target, first + start + t, 0, 0, nullptr, addresses);
          if (z != nullptr) tiles.addresses<4>(addend, first + start + t, 0, 0, nullptr, addends);
          loops().output(m.get() + t * kPanel, m_stride, kPanel, bias, z != nullptr ? addends : nullptr, relu,
                         addresses, panel * kPanel);
          for (int i = 0; has_function && i < 16; ++i) {
            if (addresses[i] != nullptr) apply_function(*epilogue, addresses[i] + panel * kPanel, kPanel);
          }
        }
      }
    });
  }
}

// Pairs of tiles that are transformed before each place is multiplied and added to its sums: so many that the sums are
// not read and written too often.
int64_t pairs_of_a_block(const Tiles& tiles, int64_t ins, int64_t outs) {
  constexpr int64_t kFewest = 64, kMost = 256;
  return std::min((tiles.count + 1) / 2, std::clamp(2 * ins * outs / (ins + outs), kFewest, kMost));
}

// w = the gradient of the weights: (outs, 3, 3, ins).
template <class Filter>
void filter_gradient(const Images& x, const Images& gy, int64_t batch, int64_t pad_row, int64_t pad_column,
                     const Filter& filter) {
  const Tiles tiles(batch, gy.height, gy.width);
  const int64_t ins = x.channels, outs = gy.channels, pairs = (tiles.count + 1) / 2;
  const int64_t block = pairs_of_a_block(tiles, ins, outs), part = winograd_summed_outs(ins, outs, block >= pairs);
  const int64_t v_stride = place_stride(2 * block * ins), n_stride = place_stride(2 * block * outs);
  const int64_t sum_stride = winograd_place_stride<float>(part * ins), zeros_count = std::max(ins, outs);
  const Scratch<Bits> scratch(kPlaces * (v_stride + n_stride) + zeros_count);
  const Scratch<float> sum(kPlaces * sum_stride);
  Bits* const v = scratch.get();
  Bits* const n = v + kPlaces * v_stride;
  Bits* const zeros = n + kPlaces * n_stride;
  std::fill_n(zeros, zeros_count, Bits{0});
  for (int64_t first = 0; first < pairs; first += block) {
    const int64_t count = std::min(block, pairs - first), panel_stride = 2 * count * kPanel;
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t pair = begin; pair < end; ++pair) {
        const int64_t t = 2 * (first + pair);
        const bool has_second = t + 1 < tiles.count;
        Bits *squares[72], *results[32];
        std::fill_n(squares + 36, 36, zeros);
        std::fill_n(results + 16, 16, zeros);
        for (int64_t i = 0; i < (has_second ? 2 : 1); ++i) {
          tiles.addresses<6>(x, t + i, pad_row, pad_column, zeros, squares + 36 * i);
          tiles.addresses<4>(gy, t + i, 0, 0, zeros, results + 16 * i);
        }
        loops().input_pair(squares, ins, v + 2 * pair * kPanel, v_stride, panel_stride);
        loops().gradient_pair(results, outs, n + 2 * pair * kPanel, n_stride, panel_stride);
      }
    });
    for (int64_t out = 0; out < outs; out += part) {
      const int64_t summed = std::min(part, outs - out);
      parallel_for(kPlaces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t place = begin; place < end; ++place) {
          bfloat16_gemm().multiply_packed(n + place * n_stride + out / kPanel * panel_stride, summed, 2 * count,
                                          v + place * v_stride, ins, sum.get() + place * sum_stride, ins, first > 0);
        }
      });
      if (first + count < pairs) continue;
      parallel_for(summed, 8, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) filter(sum.get() + o * ins, sum_stride, out + o);
      });
    }
  }
}

int64_t weights_elements(const ConvolutionProblem& p) {
  const bool forward = p.pass == ConvolutionPass::forward;
  const int64_t rows = forward ? p.in_channels : p.out_channels, columns = forward ? p.out_channels : p.in_channels;
  return columns / kPanel * kPlaces * place_stride(rows * kPanel);
}

// The transformed weights of the forward pass or the data gradient.
PackedWeights transformed(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  static constexpr char kForward = 0, kBackward = 0;  // their addresses are the keys
  const bool forward = p.pass == ConvolutionPass::forward;
  const int64_t rows = forward ? p.in_channels : p.out_channels, columns = forward ? p.out_channels : p.in_channels;
  const auto pack = [&](void* to) {
    const void* const w = a.w.data();
    parallel_for(columns / kPanel, 1, [&](int64_t begin, int64_t end) {
      if (p.w_element() == Dtype::float32) {
        loops().float32_weights(static_cast<const float*>(w), rows, columns, forward, begin, end,
                                static_cast<Bits*>(to), place_stride(rows * kPanel));
      } else {
        loops().weights(static_cast<const Bits*>(w), rows, columns, forward, begin, end, static_cast<Bits*>(to),
                        place_stride(rows * kPanel));
      }
    });
  };
  return PackedWeights(a.kept_weights, forward ? &kForward : &kBackward, "",
                       static_cast<size_t>(weights_elements(p)) * sizeof(Bits), pack);
}

}  // namespace

size_t winograd_workspace_bfloat16(const ConvolutionProblem& p) {
  const bool is_data = p.pass == ConvolutionPass::data_grad;
  const Tiles tiles(p.batch, is_data ? p.in[0] : p.out[0], is_data ? p.in[1] : p.out[1]);
  const int64_t ins = p.in_channels, outs = p.out_channels;
  if (p.pass == ConvolutionPass::filter_grad) {
    const int64_t block = pairs_of_a_block(tiles, ins, outs);
    const int64_t part = winograd_summed_outs(ins, outs, 2 * block >= tiles.count);
    const int64_t transformed = 2 * block * (ins + outs) * int64_t{sizeof(Bits)};
    return static_cast<size_t>(kPlaces * (transformed + ins * part * int64_t{sizeof(float)}));
  }
  const int64_t rows = is_data ? outs : ins;
  return static_cast<size_t>(weights_elements(p) + kPlaces * tiles_of_a_block(tiles, rows) * rows) * sizeof(Bits);
}

void convolve_winograd_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  const Images x = {static_cast<Bits*>(a.x), p.in[0], p.in[1], p.in_channels};
  const Images y = {static_cast<Bits*>(a.y), p.out[0], p.out[1], p.out_channels};
  if (p.pass == ConvolutionPass::filter_grad) {
    const int64_t ins = p.in_channels;
    void* const gw = a.w.data();
    return filter_gradient(x, y, p.batch, p.pad[0], p.pad[1], [&](const float* sum, int64_t stride, int64_t o) {
      if (p.w_element() == Dtype::float32) {
        float32_loops().filter(sum, stride, ins, static_cast<float*>(gw) + o * 9 * ins, ins);
      } else {
        loops().filter(sum, stride, ins, static_cast<Bits*>(gw) + o * 9 * ins, ins);
      }
    });
  }
  const PackedWeights weights = transformed(p, a);
  const auto* const u = static_cast<const Bits*>(weights.get());
  const auto* const bias = static_cast<const float*>(a.bias);
  if (p.pass == ConvolutionPass::forward) {
    auto* const z = static_cast<Bits*>(const_cast<void*>(a.z));
    return filter_images(x, y, p.batch, p.pad[0], p.pad[1], u, bias, z, &p);
  }
  filter_images(y, x, p.batch, 2 - p.pad[0], 2 - p.pad[1], u, bias);
}

}  // namespace kusari::cpu
