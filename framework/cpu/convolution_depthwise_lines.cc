#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kLinesWork = 1 << 17;  // multiplications that one thread does at a time

/// T: of x and y; float or the bits of bfloat16.
template <class T>
void convolve_lines(const ConvolutionProblem& p, const ConvolutionArrays& a, const DepthwiseLoops<T>& loops) {
  static constexpr char kKey = 0;  // its address is the key
  const int64_t taps = p.kernel_size(), channels = p.groups;
  const auto bytes = static_cast<size_t>(taps * round_up(channels, loops.lanes)) * sizeof(float);
  const PackedWeights weights(a.kept_weights, &kKey, std::to_string(p.groups), bytes, [&](void* to) {
    const bool is_wide = a.w.array().dtype() == Dtype::float32;
    const Scratch<float> wide(is_wide ? 0 : channels * taps);
    if (!is_wide) convert_loop(a.w.array().dtype(), Dtype::float32)(a.w.data(), wide.get(), channels * taps);
    loops.pack(is_wide ? static_cast<const float*>(a.w.data()) : wide.get(), channels, taps, static_cast<float*>(to));
  });
  const int last = static_cast<int>(p.ndim) - 1;
  const bool is_flat = p.ndim == 2;
  const int64_t height = is_flat ? p.in[0] : 1, out_height = is_flat ? p.out[0] : 1, lines = is_flat ? p.kernel[0] : 1;
  const int64_t x_line = p.in[last] * channels, y_line = p.out[last] * channels;
  DepthwiseLine<T> whole = {};
  whole.channels = channels;
  whole.width = p.in[last];
  whole.out_width = p.out[last];
  whole.kernel = p.kernel[last];
  whole.stride = p.stride[last];
  whole.pad = p.pad[last];
  whole.dilate = p.dilate[last];
  whole.kernel_lines = lines;
  whole.w = static_cast<const float*>(weights.get());
  whole.bias = static_cast<const float*>(a.bias);
  ConvolutionProblem sums = p;  // which are cut before they are rounded
  sums.dtype = static_cast<int64_t>(Dtype::float32);
  whole.range = range_of(sums);
  const bool has_function = p.has_function != 0 && whole.range.cut == ResultCut::none;
  const auto compute = [&](int64_t i, std::vector<const T*>& x) {
    const int64_t image = i / out_height, top = is_flat ? i % out_height * p.stride[0] - p.pad[0] : 0;
    x.clear();
    int64_t first = 0;
    for (int64_t k = 0; k < lines; ++k) {
      const int64_t at = top + k * (is_flat ? p.dilate[0] : 1);
      if (at < 0 || at >= height) continue;
      if (x.empty()) first = k;
      x.push_back(static_cast<const T*>(a.x) + (image * height + at) * x_line);
    }
    DepthwiseLine<T> line = whole;
    line.lines = static_cast<int64_t>(x.size());
    line.x = x.data();
    line.first_line = first;
    line.y = static_cast<T*>(a.y) + i * y_line;
    line.z = p.has_z != 0 ? static_cast<const T*>(a.z) + i * y_line : nullptr;
    loops.line(line);
    if (has_function) apply_function(p, line.y, y_line);
  };
  const int64_t count = p.batch * out_height, at_once = std::max<int64_t>(1, kLinesWork / (y_line * taps));
  run_tasks(ceil_divide(count, at_once), [&](int64_t task) {
    std::vector<const T*> x;
    for (int64_t i = task * at_once; i < std::min(count, (task + 1) * at_once); ++i) compute(i, x);
  });
}

}  // namespace

bool depthwise_supports(const ConvolutionProblem& p) {
  const bool has_dtype = p.element() == Dtype::float32 || (p.element() == Dtype::bfloat16 && has_bfloat16_dot());
  return p.pass == ConvolutionPass::forward && has_dtype && p.ndim >= 1 && p.ndim <= 2 && p.groups > 1 &&
         p.in_channels == p.groups && p.out_channels == p.groups;
}

void convolve_depthwise_lines(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  static const DepthwiseLoops<float>& loops = *KUSARI_LOOPS(isa(), depthwise_loops);
  static const DepthwiseLoops<uint16_t>* const bfloat16_loops = KUSARI_BFLOAT16_LOOPS(bfloat16_depthwise_loops);
  if (p.element() == Dtype::bfloat16) return convolve_lines(p, a, *bfloat16_loops);
  convolve_lines(p, a, loops);
}

}  // namespace kusari::cpu
