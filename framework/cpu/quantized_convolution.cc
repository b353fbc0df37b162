#include "kusari/framework/kernels/quantized_convolution.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_packed.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/quantization.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {
namespace {

const QuantizationLoops& quantization() {
  static const QuantizationLoops& chosen = *KUSARI_LOOPS(isa(), quantization_loops);
  return chosen;
}

bool is_8_bits(const Array& x) { return x.dtype() == Dtype::uint8 || x.dtype() == Dtype::int8; }

float single_number(const Array& x) {
  alignas(8) char buffer[kBlockBytes];
  return *static_cast<const float*>(BlockReader(x.dtype(), 0, Compute::float32).read(x.data<char>(), 1, buffer));
}
/// One number for all of `count`, or one each.
Array numbers_by_channel(const Array& x, int64_t count) {
  const Array result = empty({count}, Dtype::float32);
  result.copy_from(x.reshape({x.size()}));
  return result;
}

ConvolutionProblem quantized_problem(const kernels::QuantizedConvolution& options, const Array& x, const Array& W,
                                     const Array& z, const Array& bias, const Array& y) {
  ConvolutionProblem p;
  p.dtype = p.w_dtype = static_cast<int64_t>(Dtype::float32);
  p.ndim = options.geometry.ndim;
  p.batch = x.shape()[0];
  p.in_channels = x.shape()[1];
  p.out_channels = y.shape()[1];
  p.groups = options.geometry.groups;
  p.has_bias = bias.is_defined() ? 1 : 0;
  p.has_z = z.is_defined() ? 1 : 0;
  if (options.function.kernel.index == kernel_id<kernels::Pointwise<kernels::Relu>>().index) {
    p.relu = 1;
  } else if (options.function.kernel.index >= 0) {
    p.has_function = 1;
    p.function = options.function.kernel.index;
    std::memcpy(p.functor, options.function.functor, sizeof(p.functor));
  }
  for (int i = 0; i < options.geometry.ndim; ++i) {
    p.in[i] = x.shape()[i + 2];
    p.out[i] = y.shape()[i + 2];
    p.kernel[i] = W.shape()[i + 2];
    p.stride[i] = options.geometry.stride[i];
    p.pad[i] = options.geometry.pad[i];
    p.dilate[i] = options.geometry.dilate[i];
  }
  return p;
}

Array channels_innermost(const Array& x) {
  if (x.is_channels_last()) return x;
  const Array result = empty_strided(x.shape(), channels_last_strides(x.shape()), x.dtype());
  result.copy_from(x);
  return result;
}

/// Pairs of a group's weights in panels; with an odd number of channels the last one's partner is 0.
void pack_pairs(const Array& W, const Array& zeros, const PackedConvolution& group, int64_t groups, int64_t taps,
                int64_t channels, int16_t* to) {
  const PackedConvolutionLoops& loops = packed_loops();
  const bool is_signed = W.dtype() == Dtype::int8;
  const int64_t padded = round_up(channels, 2), pairs = taps * padded / 2;
  const int64_t panels = ceil_divide(group.outs, loops.columns);
  parallel_for(groups * group.outs, 8, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row % group.outs, panel = o / loops.columns, left = group.outs - panel * loops.columns;
      const int64_t columns = left <= loops.narrow_columns ? loops.narrow_columns : loops.columns;
      int16_t* const panel_at =
          to + ((row / group.outs * panels + panel) * loops.columns * pairs + o % loops.columns) * 2;
      const auto zero = static_cast<int>(zeros.data<float>()[row]);
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t at = (row * taps + tap) * channels + c, term = tap * padded + c;
          const int q = is_signed ? W.data<int8_t>()[at] : W.data<uint8_t>()[at];
          panel_at[term / 2 * columns * 2 + term % 2] = static_cast<int16_t>(q - zero);
        }
      }
    }
  });
}

/// x without its zero point in 16 bits, with zeros around it where the call reads lines.
class WideImages {
 public:
  WideImages(const ConvolutionProblem& p, PackedConvolution& call, const Array& x, int zero, int64_t padded_channels)
      : is_padded_{reads_lines(call)}, padded_{call}, copy_{elements(p, call)} {
    const int64_t height = is_padded_ ? padded_.height : call.height, width = is_padded_ ? padded_.width : call.width;
    const int64_t line = width * padded_channels, channels = p.in_channels;
    const int64_t top = is_padded_ ? call.pad[0] : 0, left = is_padded_ ? call.pad[1] : 0;
    const bool is_signed = x.dtype() == Dtype::int8;
    parallel_for(p.batch * height, std::max<int64_t>(1, (1 << 15) / line), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / height, y = i % height - top;
        int16_t* const to = copy_.get() + i * line;
        if (y < 0 || y >= call.height) {
          std::fill_n(to, line, int16_t{0});
          continue;
        }
        const int64_t before = left * padded_channels, inside = call.width * padded_channels;
        std::fill_n(to, before, int16_t{0});
        quantization().widen(x.data<char>() + (image * call.height + y) * call.width * channels, is_signed, zero,
                             call.width, channels, padded_channels, to + before);
        std::fill_n(to + before + inside, line - before - inside, int16_t{0});
      }
    });
    call.x = copy_.get();
    if (is_padded_) padded_.use(call, copy_.get());
  }

 private:
  int64_t elements(const ConvolutionProblem& p, const PackedConvolution& call) const {
    return 2 * p.batch * call.x_step * (is_padded_ ? padded_.height * padded_.width : call.height * call.width);
  }
  bool is_padded_;
  PaddedLines padded_;
  Scratch<int16_t> copy_;
};

/// Where y's numbers go.
struct QuantizedTarget {
  Array y;
  float scale = 0, zero = 0, low = 0, high = 0;
};

void run_quantized_group(const ConvolutionProblem& p, const PackedConvolution& call, const QuantizedTarget& target,
                         int64_t first_channel) {
  const PackedConvolutionLoops& loops = packed_loops();
  const bool is_narrow = is_8_bits(target.y);
  const int64_t cached = (int64_t{1} << 15) / p.out_channels / loops.rows * loops.rows;  // positions of float32 results
  PackedTasks(p, call, std::clamp<int64_t>(cached, loops.rows, 96))
      .run([&](int64_t begin, int64_t end, int64_t first, int64_t last) {
        const Scratch<const void*> addresses(round_up(end - begin, loops.rows) * call.kernel[0] * call.kernel[1]);
        if (!is_narrow) {
          loops.run_pairs(call, begin, end, first, last, addresses.get());
          return finish_packed(p, call, begin, end, first, last);
        }
        const Scratch<float> results((end - begin) * call.y_step);
        PackedConvolution task = call;
        task.y = results.get();
        task.y_first = begin;
        loops.run_pairs(task, begin, end, first, last, addresses.get());
        finish_packed(p, task, begin, end, first, last);
        const int64_t column = first * loops.columns, columns = std::min(call.outs, last * loops.columns) - column;
        const bool is_signed = target.y.dtype() == Dtype::int8, is_whole = columns == call.y_step;
        const int64_t rows = is_whole ? 1 : end - begin, n = is_whole ? (end - begin) * columns : columns;
        for (int64_t row = 0; row < rows; ++row) {
          quantization().quantize(results.get() + row * call.y_step + column, target.scale, target.zero, target.low,
                                  target.high, is_signed,
                                  target.y.data<char>() + (begin + row) * call.y_step + first_channel + column, n);
        }
      });
}

void quantized_convolution(Params<kernels::QuantizedConvolution> options, In x, In x_scale, In x_zero, In W, In W_scale,
                           In W_zero, In z, In bias, In y_scale, In y_zero, Out y) {
  if (y->size() == 0) return;
  const bool is_narrow = is_8_bits(*y);
  if (!is_8_bits(*x) || !is_8_bits(*W) || !(is_narrow || y->dtype() == Dtype::float32)) {
    throw TypeError("quantized_convolution_forward: x, W and y have dtypes " + std::string(name(x->dtype())) + ", " +
                    name(W->dtype()) + " and " + name(y->dtype()) +
                    ": x and W must be uint8 or int8, y one of these or float32");
  }
  if (!y->is_channels_last()) {
    const Array result = empty_strided(y->shape(), channels_last_strides(y->shape()), y->dtype());
    quantized_convolution(options, x, x_scale, x_zero, W, W_scale, W_zero, z, bias, y_scale, y_zero, result);
    return y->copy_from(result);
  }
  const ConvolutionProblem p = quantized_problem(*options, *x, *W, *z, *bias, *y);
  const int64_t channels = p.in_channels / p.groups, taps = p.kernel_size();
  if (p.ndim > 2 || taps * channels > kernels::kMostQuantizedTerms || (p.groups > 1 && channels % 2 != 0)) {
    throw ValueError("quantized_convolution_forward: " + std::to_string(p.ndim) + " axes, " +
                     std::to_string(taps * channels) + " terms of a sum, " + std::to_string(p.groups) +
                     " groups: at most 2 axes and " + std::to_string(kernels::kMostQuantizedTerms) +
                     " terms, and with groups an even number of channels of each");
  }
  static constexpr char kKey = 0;  // its address is the key
  const PackedConvolutionLoops& loops = packed_loops();
  const int64_t padded = p.groups > 1 ? p.in_channels : round_up(p.in_channels, 2);
  PackedConvolution call = packed_geometry(p, padded / 2);
  const int64_t panels = ceil_divide(call.outs, loops.columns),
                group_pairs = panels * loops.columns * taps * call.depth;
  const Array weights = channels_innermost(*W), W_zeros = numbers_by_channel(*W_zero, p.out_channels);
  const auto bytes = static_cast<size_t>(p.groups * group_pairs) * 2 * sizeof(int16_t);
  const bool is_kept = options->geometry.weights_are_fixed && weights.is_same(*W);
  const PackedWeights packed(is_kept ? &*W : nullptr, &kKey, bytes, [&](void* to) {
    std::memset(to, 0, bytes);
    pack_pairs(weights, W_zeros, call, p.groups, taps, channels, static_cast<int16_t*>(to));
  });

  const Array scale = numbers_by_channel(*W_scale, p.out_channels);
  const float of_x = single_number(*x_scale);
  for (int64_t o = 0; o < p.out_channels; ++o) scale.data<float>()[o] *= of_x;
  const Array biases = bias->is_defined() ? bias->astype(Dtype::float32).contiguous() : Array();
  const Array addend = z->is_defined() ? channels_innermost(z->astype(Dtype::float32)) : Array();
  const QuantizedTarget target =
      is_narrow ? QuantizedTarget{*y, single_number(*y_scale), single_number(*y_zero), static_cast<float>(options->low),
                                  static_cast<float>(options->high)}
                : QuantizedTarget{*y};
  const WideImages images(p, call, channels_innermost(*x), static_cast<int>(single_number(*x_zero)), padded);
  const Scratch<int16_t> zeros(2 * call.depth);
  std::fill_n(zeros.get(), 2 * call.depth, int16_t{0});
  call.zeros = zeros.get();
  for (int64_t i = 0; i < p.groups; ++i) {
    const int64_t channel = i * call.outs;
    PackedConvolution group = call;
    group.x = static_cast<const int16_t*>(call.x) + 2 * i * call.depth;
    group.w = static_cast<const int16_t*>(packed.get()) + 2 * i * group_pairs;
    group.scale = scale.data<float>() + channel;
    group.bias = biases.is_defined() ? biases.data<float>() + channel : nullptr;
    group.z = addend.is_defined() ? addend.data<float>() + channel : nullptr;
    group.y = is_narrow ? nullptr : y->data<float>() + channel;
    run_quantized_group(p, group, target, channel);
  }
}

}  // namespace

void register_quantized_convolution(Backend& backend) {
  backend.add<kernels::QuantizedConvolutionForward>(&quantized_convolution);
}

}  // namespace kusari::cpu
