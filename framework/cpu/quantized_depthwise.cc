#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/quantized_depthwise.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/quantized_call.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kLinesWork = 1 << 17;  // multiplications that one thread does at a time

/// The sum for each channel, then the weights as the loops want them, without their zero points.
class DepthwiseWeights {
 public:
  DepthwiseWeights(const ConvolutionProblem& p, const QuantizedCall& call, const QuantizedDepthwiseLoops& loops)
      : channels_{p.groups},
        lines_{p.ndim == 2 ? p.kernel[0] : 1},
        kernel_{p.kernel[p.ndim - 1]},
        words_{round_up(channels_, loops.lanes) * ceil_divide(lines_, loops.lines) * kernel_} {
    const auto bytes = static_cast<size_t>(channels_ + words_) * sizeof(int32_t);
    packed_.emplace(call.options.geometry.weights_are_fixed ? &call.W : nullptr, &loops, variant_of(p, call.W_zeros),
                    bytes, [&](void* to) {
                      std::memset(to, 0, bytes);
                      auto* const sums = static_cast<int32_t*>(to);
                      loops.lines == 4 ? pack<int8_t>(call, loops, sums) : pack<int16_t>(call, loops, sums);
                    });
  }
  const int32_t* sums() const { return static_cast<const int32_t*>(packed_->get()); }
  const int32_t* numbers() const { return sums() + channels_; }

 private:
  template <class Number>
  void pack(const QuantizedCall& call, const QuantizedDepthwiseLoops& loops, int32_t* sums) const {
    const Array W = call.W.contiguous();  // (channels, 1, lines, kernel)
    const bool is_signed = W.dtype() == Dtype::int8;
    const int64_t together = ceil_divide(lines_, loops.lines), lanes = loops.lanes;
    auto* const numbers = reinterpret_cast<Number*>(sums + channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      const auto zero = static_cast<int>(call.W_zeros.data<float>()[c]);
      for (int64_t line = 0; line < lines_; ++line) {
        for (int64_t k = 0; k < kernel_; ++k) {
          const int64_t from = (c * lines_ + line) * kernel_ + k;
          const int q = (is_signed ? W.data<int8_t>()[from] : W.data<uint8_t>()[from]) - zero;
          const int64_t word = ((c / lanes * together + line / loops.lines) * kernel_ + k) * lanes + c % lanes;
          numbers[word * loops.lines + line % loops.lines] = static_cast<Number>(q);
          sums[c] += q;
        }
      }
    }
  }
  int64_t channels_, lines_, kernel_, words_;
  std::optional<PackedWeights> packed_;
};

const QuantizedDepthwiseLoops& loops_for(const QuantizedCall& call) {
  static const QuantizedDepthwiseLoops* const of_bytes = KUSARI_VNNI_LOOPS(quantized_depthwise_of_bytes);
  static const QuantizedDepthwiseLoops& any = *KUSARI_LOOPS(isa(), quantized_depthwise_loops);
  return of_bytes != nullptr && call.fits_int8() ? *of_bytes : any;
}

}  // namespace

bool is_quantized_depthwise(const ConvolutionProblem& p) {
  return p.ndim >= 1 && p.ndim <= 2 && p.in_channels == p.groups && p.out_channels == p.groups;
}

void convolve_quantized_depthwise(const ConvolutionProblem& p, const QuantizedCall& call) {
  const QuantizedDepthwiseLoops& loops = loops_for(call);
  const DepthwiseWeights weights(p, call, loops);
  const int64_t channels = p.groups, last = p.ndim - 1;
  const bool is_flat = p.ndim == 2, is_signed = call.x.dtype() == Dtype::int8;
  const int64_t height = is_flat ? p.in[0] : 1, out_height = is_flat ? p.out[0] : 1;
  const int64_t x_line = p.in[last] * channels, y_line = p.out[last] * channels;
  const auto outside = static_cast<unsigned char>(call.x_zero);
  // What lines beyond x are read from, and with what sums begin: the products of x's zero point, taken off.
  const Scratch<unsigned char> empty_line(x_line);
  std::fill_n(empty_line.get(), x_line, outside);
  const Scratch<int32_t> start(channels);
  for (int64_t c = 0; c < channels; ++c) start.get()[c] = -(call.x_zero + (is_signed ? 128 : 0)) * weights.sums()[c];

  QuantizedDepthwiseLine whole = {};
  whole.channels = channels;
  whole.width = p.in[last];
  whole.out_width = p.out[last];
  whole.kernel_lines = is_flat ? p.kernel[0] : 1;
  whole.kernel = p.kernel[last];
  whole.stride = p.stride[last];
  whole.pad = p.pad[last];
  whole.dilate = p.dilate[last];
  whole.outside = outside;
  whole.flip = is_signed ? 128 : 0;
  whole.w = weights.numbers();
  whole.start = start.get();
  whole.scale = call.scale.data<float>();
  whole.bias = call.bias.is_defined() ? call.bias.data<float>() : nullptr;
  whole.range = range_of(p);
  const bool has_function = p.has_function != 0 && whole.range.cut == ResultCut::none;
  const bool is_rounded = call.is_narrow() && !has_function;
  QuantizedTarget target = call.target;
  if (call.is_narrow()) cut_integers(whole.range, target);
  const PackedRounding rounding = call.is_narrow() ? rounding_to(target) : PackedRounding{};
  const auto compute = [&](int64_t i, std::vector<const unsigned char*>& x, float* numbers) {
    const int64_t image = i / out_height, top = is_flat ? i % out_height * p.stride[0] - p.pad[0] : 0;
    for (int64_t k = 0; k < whole.kernel_lines; ++k) {
      const int64_t at = top + k * (is_flat ? p.dilate[0] : 1);
      const bool is_inside = at >= 0 && at < height;
      x[static_cast<size_t>(k)] =
          is_inside ? call.x.data<unsigned char>() + (image * height + at) * x_line : empty_line.get();
    }
    QuantizedDepthwiseLine line = whole;
    line.x = x.data();
    line.z = call.z.is_defined() ? call.z.data<float>() + i * y_line : nullptr;
    line.y = call.is_narrow() ? numbers : call.target.y.data<float>() + i * y_line;
    PackedRounding here = rounding;
    here.y = call.is_narrow() ? rounding.y + i * y_line : nullptr;
    if (is_rounded) line.rounding = &here;
    loops.line(line);
    if (has_function) apply_function(p, line.y, y_line);
    if (call.is_narrow() && has_function) {
      quantization().quantize(numbers, target.scale, target.zero, target.low, target.high,
                              target.y.dtype() == Dtype::int8, here.y, y_line);
    }
  };
  const int64_t count = p.batch * out_height, taps = p.kernel_size();
  const int64_t at_once = std::max<int64_t>(1, kLinesWork / (y_line * taps));
  run_tasks(ceil_divide(count, at_once), [&](int64_t task) {
    std::vector<const unsigned char*> x(static_cast<size_t>(whole.kernel_lines));
    const Scratch<float> numbers(call.is_narrow() && has_function ? y_line : 0);
    for (int64_t i = task * at_once; i < std::min(count, (task + 1) * at_once); ++i) compute(i, x, numbers.get());
  });
}

}  // namespace kusari::cpu
