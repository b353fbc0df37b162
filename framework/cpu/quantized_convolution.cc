#include "kusari/framework/kernels/quantized_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_packed.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/vnni_packed_convolution.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/quantized_call.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {
namespace {

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

/// How many neighbouring integers an element of x has: Pairs of 16 bits, on any processor, or four of 8 bits.
template <class X>
constexpr int64_t kPerElement = 4 / int64_t{sizeof(X)};

/// The weights without their zero points: elements of a group in panels, with zeros where no channel is left, and
/// before them the sum for each channel of y.
template <class X>
class QuantizedWeights {
 public:
  using Number = std::conditional_t<sizeof(X) == 1, int8_t, int16_t>;
  QuantizedWeights(const ConvolutionProblem& p, const PackedConvolution& call, const Array& W, const Array& zeros,
                   bool is_kept)
      : sums_{p.out_channels},
        group_elements_{ceil_divide(call.outs, packed_loops().columns) * packed_loops().columns * p.kernel_size() *
                        call.depth} {
    static constexpr char kKey = 0;  // its address is the key
    const auto bytes = static_cast<size_t>(sums_ + p.groups * group_elements_) * sizeof(int32_t);
    packed_.emplace(is_kept ? &W : nullptr, &kKey, variant_of(p, zeros), bytes, [&](void* to) {
      std::memset(to, 0, bytes);
      pack(p, call, with_channels_innermost(W), zeros, static_cast<int32_t*>(to));
    });
  }
  const int32_t* sums() const { return static_cast<const int32_t*>(packed_->get()); }
  const void* group(int64_t i) const { return sums() + sums_ + i * group_elements_; }

 private:
  void pack(const ConvolutionProblem& p, const PackedConvolution& group, const Array& W, const Array& zeros,
            int32_t* to) const {
    const PackedConvolutionLoops& loops = packed_loops();
    const bool is_signed = W.dtype() == Dtype::int8;
    const int64_t taps = p.kernel_size(), channels = p.in_channels / p.groups, elements = taps * group.depth;
    auto* const numbers = reinterpret_cast<Number*>(to + sums_);
    parallel_for(p.out_channels, 8, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t o = row % group.outs, panel = o / loops.columns, left = group.outs - panel * loops.columns;
        const int64_t columns = left <= loops.narrow_columns ? loops.narrow_columns : loops.columns;
        const int64_t at = row / group.outs * group_elements_ + panel * loops.columns * elements + o % loops.columns;
        const auto zero = static_cast<int>(zeros.data<float>()[row]);
        int32_t sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t from = (row * taps + tap) * channels + c;
            const int64_t element = tap * group.depth + c / kPerElement<X>;
            const int q = (is_signed ? W.data<int8_t>()[from] : W.data<uint8_t>()[from]) - zero;
            numbers[(at + element * columns) * kPerElement<X> + c % kPerElement<X>] = static_cast<Number>(q);
            sum += q;
          }
        }
        to[row] = sum;
      }
    });
  }
  int64_t sums_, group_elements_;
  std::optional<PackedWeights> packed_;
};

/// x as the loops read it, channels innermost and filled up: without its zero point in 16 bits, or as uint8, int8 with
/// 128 added. Where the call reads lines, there are zeros around it, or what stands for them: outside().
template <class X>
class QuantizedImages {
 public:
  QuantizedImages(const ConvolutionProblem& p, PackedConvolution& call, const Array& x, int zero)
      : is_padded_{reads_lines(call)},
        is_signed_{x.dtype() == Dtype::int8},
        zero_{zero},
        filled_{call.x_step * kPerElement<X>},
        padded_{call},
        is_copied_{sizeof(X) == 2 || is_signed_ || is_padded_ || filled_ != p.in_channels ||
                   is_between_words(x.raw_data())},
        copy_{is_copied_ ? elements(p, call) : 0} {
    call.x = x.raw_data();
    if (!is_copied_) return;
    const int64_t height = is_padded_ ? padded_.height : call.height, width = is_padded_ ? padded_.width : call.width;
    const int64_t line = width * filled_, channels = p.in_channels;
    const int64_t top = is_padded_ ? call.pad[0] : 0, left = is_padded_ ? call.pad[1] : 0;
    parallel_for(p.batch * height, std::max<int64_t>(1, (1 << 15) / line), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / height, y = i % height - top;
        X* const to = copy_.get() + i * line;
        if (y < 0 || y >= call.height) {
          std::fill_n(to, line, outside());
          continue;
        }
        const int64_t before = left * filled_, inside = call.width * filled_;
        std::fill_n(to, before, outside());
        copy_line(x.data<char>() + (image * call.height + y) * call.width * channels, call.width, channels,
                  to + before);
        std::fill_n(to + before + inside, line - before - inside, outside());
      }
    });
    call.x = copy_.get();
    if (is_padded_) padded_.use(call, copy_.get());
  }
  /// What zero is here.
  X outside() const { return sizeof(X) == 2 ? X{0} : static_cast<X>(zero_ + (is_signed_ ? 128 : 0)); }

 private:
  void copy_line(const void* from, int64_t n, int64_t channels, X* to) const {
    if constexpr (sizeof(X) == 2) {
      quantization().widen(from, is_signed_, zero_, n, channels, filled_, to);
    } else {
      quantization().fill_up(from, is_signed_, n, channels, filled_, to);
    }
  }
  int64_t elements(const ConvolutionProblem& p, const PackedConvolution& call) const {
    return p.batch * filled_ * (is_padded_ ? padded_.height * padded_.width : call.height * call.width);
  }
  bool is_padded_, is_signed_;
  int zero_;
  int64_t filled_;
  PaddedLines padded_;
  bool is_copied_;
  Scratch<X> copy_;
};

/// is_cut: no function follows but that of call.range and of the target's bounds.
void run_quantized_group(const ConvolutionProblem& p, const PackedConvolution& call, PackedConvolutionRun loop,
                         const QuantizedTarget& target, bool is_cut, int64_t first_channel) {
  const PackedConvolutionLoops& loops = packed_loops();
  const bool is_narrow = kernels::has_8_bits(target.y);
  constexpr int64_t kMostRows = 96;
  const int64_t cached = (int64_t{1} << 15) / p.out_channels / loops.rows * loops.rows;  // positions of float32 results
  const int64_t rows = is_narrow && is_cut ? kMostRows : std::clamp<int64_t>(cached, loops.rows, kMostRows);
  PackedRounding rounding = {};
  if (is_narrow) {
    rounding = rounding_to(target);
    rounding.y += first_channel;
  }
  PackedTasks(p, call, rows).run([&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    const int64_t whole = round_up(end - begin, loops.rows);
    const Scratch<const void*> addresses(whole * call.kernel[0] * call.kernel[1] + loops.rows);
    if (!is_narrow) {
      loop(call, begin, end, first, last, addresses.get());
      return finish_packed(p, call, begin, end, first, last);
    }
    const Scratch<float> results((end - begin) * call.y_step);
    PackedConvolution task = call;
    task.y = results.get();
    task.y_first = begin;
    if (is_cut) task.rounding = &rounding;
    loop(task, begin, end, first, last, addresses.get());
    if (is_cut) return;
    finish_packed(p, task, begin, end, first, last);
    const int64_t column = first * loops.columns, columns = std::min(call.outs, last * loops.columns) - column;
    const bool is_signed = target.y.dtype() == Dtype::int8, is_whole = columns == call.y_step;
    const int64_t lines = is_whole ? 1 : end - begin, n = is_whole ? (end - begin) * columns : columns;
    for (int64_t line = 0; line < lines; ++line) {
      quantization().quantize(results.get() + line * call.y_step + column, target.scale, target.zero, target.low,
                              target.high, is_signed, rounding.y + (begin + line) * call.y_step + column, n);
    }
  });
}

template <class X>
void run_quantized(const ConvolutionProblem& p, const QuantizedCall& given, PackedConvolutionRun loop) {
  const int64_t channels = p.groups > 1 ? p.in_channels : round_up(p.in_channels, kPerElement<X>);
  PackedConvolution call = packed_geometry(p, channels / kPerElement<X>);
  QuantizedTarget target = given.target;
  const bool is_cut = p.has_function == 0 || call.range.cut != ResultCut::none;
  if (given.is_narrow()) cut_integers(call.range, target);
  const QuantizedWeights<X> weights(p, call, given.W, given.W_zeros, given.options.geometry.weights_are_fixed);
  const QuantizedImages<X> images(p, call, given.x, given.x_zero);
  const Scratch<X> outside(call.depth * kPerElement<X>);
  std::fill_n(outside.get(), call.depth * kPerElement<X>, images.outside());
  call.zeros = outside.get();
  // Sums of 8 bits begin with what their zero points will have added.
  const Scratch<int32_t> start(p.out_channels);
  for (int64_t o = 0; o < p.out_channels; ++o) start.get()[o] = -int32_t{images.outside()} * weights.sums()[o];
  for (int64_t i = 0; i < p.groups; ++i) {
    const int64_t channel = i * call.outs;
    PackedConvolution group = call;
    group.x = static_cast<const int32_t*>(call.x) + i * call.depth;
    group.w = weights.group(i);
    group.start = sizeof(X) == 1 ? start.get() + channel : nullptr;
    given.give_channels(group, channel);
    run_quantized_group(p, group, loop, target, is_cut, channel);
  }
}

void quantized_convolution(Params<kernels::QuantizedConvolution> options, In x, In x_scale, In x_zero, In W, In W_scale,
                           In W_zero, In z, In bias, In y_scale, In y_zero, Out y) {
  if (y->size() == 0) return;
  kernels::check_quantized_convolution(*options, x, W, y);
  if (!y->is_channels_last()) {
    const Array result = empty_strided(y->shape(), channels_last_strides(y->shape()), y->dtype());
    quantized_convolution(options, x, x_scale, x_zero, W, W_scale, W_zero, z, bias, y_scale, y_zero, result);
    return y->copy_from(result);
  }
  const ConvolutionProblem p = quantized_problem(*options, *x, *W, *z, *bias, *y);
  const int64_t channels = p.in_channels / p.groups;
  const bool is_depthwise = is_quantized_depthwise(p);
  if (p.groups > 1 && !is_depthwise && channels % 2 != 0) {
    throw ValueError("quantized_convolution_forward: there are " + std::to_string(p.groups) + " groups of " +
                     std::to_string(channels) +
                     " channels: it must be an even number of channels of each, or one of x and of y");
  }
  QuantizedCall call = {*options,
                        with_channels_innermost(*x),
                        *W,
                        numbers_by_channel(*W_zero, p.out_channels),
                        numbers_by_channel(*W_scale, p.out_channels),
                        bias->is_defined() ? bias->astype(Dtype::float32).contiguous() : Array(),
                        z->is_defined() ? with_channels_innermost(z->astype(Dtype::float32)) : Array(),
                        static_cast<int>(single_number(*x_zero)),
                        {*y}};
  const float of_x = single_number(*x_scale);
  for (int64_t o = 0; o < p.out_channels; ++o) call.scale.data<float>()[o] *= of_x;
  if (call.is_narrow()) {
    call.target = {*y, single_number(*y_scale), single_number(*y_zero), static_cast<float>(options->low),
                   static_cast<float>(options->high)};
  }
  if (is_depthwise) return convolve_quantized_depthwise(p, call);
  static const PackedConvolutionRun of_bytes = KUSARI_VNNI_LOOPS(packed_convolution_of_bytes);
  const bool is_whole = p.groups == 1 || channels % kPerElement<uint8_t> == 0;
  if (of_bytes != nullptr && is_whole && call.fits_int8()) {
    return run_quantized<uint8_t>(p, call, of_bytes);
  }
  if (convolve_quantized_winograd(p, call)) return;
  run_quantized<int16_t>(p, call, packed_loops().run_pairs);
}

}  // namespace

const QuantizationLoops& quantization() {
  static const QuantizationLoops& chosen = *KUSARI_LOOPS(isa(), quantization_loops);
  return chosen;
}

bool QuantizedCall::fits_int8() const {
  const float wanted = W.dtype() == Dtype::int8 ? 0.0f : 128.0f;
  const auto* const zero = W_zeros.data<float>();
  return std::all_of(zero, zero + W_zeros.size(), [&](float found) { return found == wanted; });
}

void QuantizedCall::give_channels(PackedConvolution& to, int64_t first) const {
  to.scale = scale.data<float>() + first;
  to.bias = bias.is_defined() ? bias.data<float>() + first : nullptr;
  to.z = z.is_defined() ? z.data<float>() + first : nullptr;
  to.y = is_narrow() ? nullptr : target.y.data<float>() + first;
}

PackedRounding rounding_to(const QuantizedTarget& target) {
  const float inverse = 1 / target.scale;
  const int flip = target.y.dtype() == Dtype::int8 ? 128 : 0;
  const auto moved = [&](float x, int least, int most) {
    return static_cast<int>(
        std::clamp(x + static_cast<float>(flip), static_cast<float>(least), static_cast<float>(most)));
  };
  return {target.y.data<unsigned char>(),
          target.y.ndim() > 1 ? target.y.shape()[1] : 1,
          target.scale,
          std::isnormal(inverse) ? inverse : std::numeric_limits<float>::quiet_NaN(),
          static_cast<int16_t>(moved(target.zero, -(1 << 15), (1 << 15) - 1)),
          static_cast<unsigned char>(moved(target.low, 0, 255)),
          static_cast<unsigned char>(moved(target.high, 0, 255)),
          static_cast<unsigned char>(flip)};
}

void cut_integers(ResultRange& range, QuantizedTarget& target) {
  const float low = range.cut == ResultCut::clip ? range.low : 0;
  const float high = range.cut == ResultCut::below_zero ? std::numeric_limits<float>::infinity() : range.high;
  if (range.cut == ResultCut::none || !(low <= high)) return;
  const kernels::Quantize rounded = {target.low, target.high};
  target.low = rounded(target.scale < 0 ? high : low, target.scale, target.zero);
  target.high = rounded(target.scale < 0 ? low : high, target.scale, target.zero);
  range.cut = ResultCut::none;
}

float single_number(const Array& x) {
  alignas(8) char buffer[kBlockBytes];
  return *static_cast<const float*>(BlockReader(x.dtype(), 0, Compute::float32).read(x.data<char>(), 1, buffer));
}
std::string variant_of(const ConvolutionProblem& p, const Array& W_zeros) {
  const auto* const zeros = W_zeros.data<float>();
  const bool is_one = std::all_of(zeros, zeros + p.out_channels, [&](float zero) { return zero == zeros[0]; });
  std::string variant = std::to_string(p.groups) + " ";
  variant.append(reinterpret_cast<const char*>(zeros),
                 (is_one ? 1 : static_cast<size_t>(p.out_channels)) * sizeof(float));
  return variant;
}

Array with_channels_innermost(const Array& x) {
  if (x.is_channels_last()) return x;
  const Array result = empty_strided(x.shape(), channels_last_strides(x.shape()), x.dtype());
  result.copy_from(x);
  return result;
}

void register_quantized_convolution(Backend& backend) {
  backend.add<kernels::QuantizedConvolutionForward>(&quantized_convolution);
}

}  // namespace kusari::cpu
