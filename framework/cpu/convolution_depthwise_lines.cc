#include <algorithm>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/packed_weights.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kLinesWork = 1 << 17;  // multiplications that one thread does at a time

}  // namespace

bool depthwise_supports(const ConvolutionProblem& p) {
  return p.pass == ConvolutionPass::forward && p.element() == Dtype::float32 && p.ndim >= 1 && p.ndim <= 2 &&
         p.groups > 1 && p.in_channels == p.groups && p.out_channels == p.groups;
}

void convolve_depthwise_lines(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  static constexpr char kKey = 0;  // its address is the key
  static const DepthwiseLoops& loops = *KUSARI_LOOPS(isa(), depthwise_loops);
  const int64_t taps = p.kernel_size(), channels = p.groups;
  const auto bytes = static_cast<size_t>(taps * round_up(channels, loops.lanes)) * sizeof(float);
  const PackedWeights weights(a.kept_weights, &kKey, bytes, [&](void* to) {
    loops.pack(static_cast<const float*>(a.w.data()), channels, taps, static_cast<float*>(to));
  });
  const int last = static_cast<int>(p.ndim) - 1;
  const bool is_flat = p.ndim == 2;
  const int64_t height = is_flat ? p.in[0] : 1, out_height = is_flat ? p.out[0] : 1, lines = is_flat ? p.kernel[0] : 1;
  const int64_t x_line = p.in[last] * channels, y_line = p.out[last] * channels;
  DepthwiseLine whole = {};
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
  whole.range = range_of(p);
  const bool has_function = p.has_function != 0 && whole.range.cut == ResultCut::none;
  const auto compute = [&](int64_t i, std::vector<const float*>& x) {
    const int64_t image = i / out_height, top = is_flat ? i % out_height * p.stride[0] - p.pad[0] : 0;
    x.clear();
    int64_t first = 0;
    for (int64_t k = 0; k < lines; ++k) {
      const int64_t at = top + k * (is_flat ? p.dilate[0] : 1);
      if (at < 0 || at >= height) continue;
      if (x.empty()) first = k;
      x.push_back(static_cast<const float*>(a.x) + (image * height + at) * x_line);
    }
    DepthwiseLine line = whole;
    line.lines = static_cast<int64_t>(x.size());
    line.x = x.data();
    line.first_line = first;
    line.y = static_cast<float*>(a.y) + i * y_line;
    line.z = p.has_z != 0 ? static_cast<const float*>(a.z) + i * y_line : nullptr;
    loops.line(line);
    if (has_function) apply_function(p, line.y, y_line);
  };
  const int64_t count = p.batch * out_height, at_once = std::max<int64_t>(1, kLinesWork / (y_line * taps));
  run_tasks(ceil_divide(count, at_once), [&](int64_t task) {
    std::vector<const float*> x;
    for (int64_t i = task * at_once; i < std::min(count, (task + 1) * at_once); ++i) compute(i, x);
  });
}

}  // namespace kusari::cpu
