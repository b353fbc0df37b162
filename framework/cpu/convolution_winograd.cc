#include "kusari/framework/cpu/convolution_winograd.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/winograd.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kPlaces = kWinogradPlaces, kPanel = kWinogradChannels;

const WinogradLoops& loops() {
  static const WinogradLoops& chosen = *KUSARI_LOOPS(isa(), winograd_loops);
  return chosen;
}

using Images = WinogradImages<float>;
using Tiles = WinogradTiles;

int64_t place_stride(int64_t floats) { return winograd_place_stride<float>(floats); }

// Tiles that are transformed, multiplied and transformed back together: enough to fill a cache, and so many that the
// matrix of ins x outs that belongs to each place is not read too often.
int64_t tiles_of_a_block(const Tiles& tiles, int64_t ins, int64_t outs) {
  const int64_t cached = (int64_t{1} << 20) / ((ins + outs) * kPlaces), worthwhile = ins * outs / (2 * (ins + outs));
  return std::min(tiles.count, std::max(cached, worthwhile));
}

// Target = source filtered with the transformed weights u, + bias + z. The source lies `before` the
// target by that many positions; z is laid out like the target; then comes what `epilogue` says of y.
void filter_images(const Images& source, const Images& target, int64_t batch, int64_t before_row, int64_t before_column,
                   const float* u, const float* bias, float* z = nullptr,
                   const ConvolutionProblem* epilogue = nullptr) {
  const bool relu = epilogue != nullptr && epilogue->relu != 0;
  const bool has_function = epilogue != nullptr && epilogue->has_function != 0;
  const Tiles tiles(batch, target.height, target.width);
  const Images addend = {z, target.height, target.width, target.channels};
  const int64_t rows = source.channels, columns = target.channels, panels = columns / kPanel;
  const int64_t block = tiles_of_a_block(tiles, rows, columns);
  const int64_t v_stride = place_stride(block * rows), m_stride = place_stride(block * columns);
  const Scratch<float> scratch(kPlaces * (v_stride + m_stride) + rows);
  float* const v = scratch.get();
  float* const m = v + kPlaces * v_stride;
  float* const zeros = m + kPlaces * m_stride;
  std::fill_n(zeros, rows, 0.0f);
  for (int64_t first = 0; first < tiles.count; first += block) {
    const int64_t count = std::min(block, tiles.count - first);
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        float* addresses[36];
        tiles.addresses<6>(source, first + t, before_row, before_column, zeros, addresses);
        loops().input(addresses, rows, v + t * rows, v_stride);
      }
    });
    parallel_for(kPlaces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end; ++place) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          loops().multiply(v + place * v_stride, rows, count, rows, u + (place * panels + panel) * rows * kPanel,
                           m + place * m_stride + panel * kPanel, columns);
        }
      }
    });
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        float *addresses[16], *addends[16];
        tiles.addresses<4>(target, first + t, 0, 0, nullptr, addresses);
        if (z != nullptr) tiles.addresses<4>(addend, first + t, 0, 0, nullptr, addends);
        loops().output(m + t * columns, m_stride, columns, bias, z != nullptr ? addends : nullptr, relu, addresses);
        for (int i = 0; has_function && i < 16; ++i) {
          if (addresses[i] != nullptr) apply_function(*epilogue, addresses[i], columns);
        }
      }
    });
  }
}

// w = the gradient of the weights: (outs, 3, 3, ins). Block by block of tiles, all are transformed, then each place is
// multiplied and added up by itself: its two matrices and its sums fit the second-level cache.
void filter_gradient(const Images& x, const Images& gy, int64_t batch, int64_t pad_row, int64_t pad_column, float* w) {
  const Tiles tiles(batch, gy.height, gy.width);
  const int64_t ins = x.channels, outs = gy.channels;
  const int64_t block = tiles_of_a_block(tiles, ins, outs),
                part = winograd_summed_outs(ins, outs, block >= tiles.count);
  const int64_t v_stride = place_stride(block * ins), n_stride = place_stride(block * outs);
  const int64_t sum_stride = place_stride(part * ins), zeros_count = std::max(ins, outs);
  const Scratch<float> scratch(kPlaces * (v_stride + n_stride + sum_stride) + zeros_count);
  float* const v = scratch.get();
  float* const n = v + kPlaces * v_stride;
  float* const sum = n + kPlaces * n_stride;
  float* const zeros = sum + kPlaces * sum_stride;
  std::fill_n(zeros, zeros_count, 0.0f);
  for (int64_t first = 0; first < tiles.count; first += block) {
    const int64_t count = std::min(block, tiles.count - first);
    parallel_for(count, kWinogradTilesOfATask, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        float* addresses[36];
        tiles.addresses<6>(x, first + t, pad_row, pad_column, zeros, addresses);
        loops().input(addresses, ins, v + t * ins, v_stride);
        tiles.addresses<4>(gy, first + t, 0, 0, zeros, addresses);
        loops().gradient(addresses, outs, n + t * outs, n_stride);
      }
    });
    for (int64_t out = 0; out < outs; out += part) {
      const int64_t summed = std::min(part, outs - out);
      parallel_for(kPlaces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t place = begin; place < end; ++place) {
          loops().accumulate(n + place * n_stride + out, outs, summed, v + place * v_stride, ins, ins, count,
                             sum + place * sum_stride, ins, first > 0);
        }
      });
      if (first + count < tiles.count) continue;
      parallel_for(summed, 8, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
          loops().filter(sum + o * ins, sum_stride, ins, w + (out + o) * 9 * ins, ins);
      });
    }
  }
}

}  // namespace

bool winograd_supports(const ConvolutionProblem& p) {
  if (p.element() != Dtype::float32 && (p.element() != Dtype::bfloat16 || !has_bfloat16_dot())) return false;
  if (p.ndim != 2 || p.groups != 1) return false;
  for (int axis = 0; axis < 2; ++axis) {
    if (p.kernel[axis] != 3 || p.stride[axis] != 1 || p.dilate[axis] != 1 || p.pad[axis] > 2) return false;
  }
  return p.in_channels % kPanel == 0 && p.out_channels % kPanel == 0;
}

namespace {

int64_t weights_floats(const ConvolutionProblem& p) { return kPlaces * p.in_channels * p.out_channels; }

// The transformed weights of the forward pass or the data gradient.
PackedWeights transformed(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  static constexpr char kForward = 0, kBackward = 0;  // their addresses are the keys
  const bool forward = p.pass == ConvolutionPass::forward;
  const int64_t rows = forward ? p.in_channels : p.out_channels, columns = forward ? p.out_channels : p.in_channels;
  return PackedWeights(a.kept_weights, forward ? &kForward : &kBackward, "",
                       static_cast<size_t>(weights_floats(p)) * sizeof(float), [&](void* to) {
                         const auto* const w = static_cast<const float*>(a.w.data());
                         parallel_for(columns / kPanel, 1, [&](int64_t begin, int64_t end) {
                           loops().weights(w, rows, columns, forward, begin, end, static_cast<float*>(to));
                         });
                       });
}

}  // namespace

size_t winograd_workspace(const ConvolutionProblem& p) {
  if (p.element() == Dtype::bfloat16) return winograd_workspace_bfloat16(p);
  const bool is_data = p.pass == ConvolutionPass::data_grad;
  const Tiles tiles(p.batch, is_data ? p.in[0] : p.out[0], is_data ? p.in[1] : p.out[1]);
  const int64_t block = tiles_of_a_block(tiles, p.in_channels, p.out_channels);
  const int64_t part = winograd_summed_outs(p.in_channels, p.out_channels, block >= tiles.count);
  const int64_t weights = p.pass == ConvolutionPass::filter_grad ? kPlaces * p.in_channels * part : weights_floats(p);
  return static_cast<size_t>(weights + kPlaces * block * (p.in_channels + p.out_channels)) * sizeof(float);
}

void convolve_winograd(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  if (p.element() == Dtype::bfloat16) return convolve_winograd_bfloat16(p, a);
  const Images x = {static_cast<float*>(a.x), p.in[0], p.in[1], p.in_channels};
  const Images y = {static_cast<float*>(a.y), p.out[0], p.out[1], p.out_channels};
  if (p.pass == ConvolutionPass::filter_grad) {
    return filter_gradient(x, y, p.batch, p.pad[0], p.pad[1], static_cast<float*>(a.w.data()));
  }
  const PackedWeights weights = transformed(p, a);
  const auto* const u = static_cast<const float*>(weights.get());
  const auto* const bias = static_cast<const float*>(a.bias);
  if (p.pass == ConvolutionPass::forward) {
    auto* const z = static_cast<float*>(const_cast<void*>(a.z));
    return filter_images(x, y, p.batch, p.pad[0], p.pad[1], u, bias, z, &p);
  }
  filter_images(y, x, p.batch, 2 - p.pad[0], 2 - p.pad[1], u, bias);
}

}  // namespace kusari::cpu
