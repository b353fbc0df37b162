#include "kusari/framework/cpu/convolution_packed.h"

#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
const PackedConvolutionLoops& packed_loops() {
  static const PackedConvolutionLoops& chosen = *KUSARI_LOOPS(isa(), packed_convolution_loops);
  return chosen;
}

PackedConvolution packed_geometry(const ConvolutionProblem& p, int64_t channels) {
  PackedConvolution call = {};
  int64_t in[2], out[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t axis = p.ndim - 2 + i;
    const bool is_there = axis >= 0;
    in[i] = is_there ? p.in[axis] : 1;
    out[i] = is_there ? p.out[axis] : 1;
    call.kernel[i] = is_there ? p.kernel[axis] : 1;
    call.stride[i] = is_there ? p.stride[axis] : 1;
    call.pad[i] = is_there ? p.pad[axis] : 0;
    call.dilate[i] = is_there ? p.dilate[axis] : 1;
  }
  call.height = in[0];
  call.width = in[1];
  call.out_height = out[0];
  call.out_width = out[1];
  call.depth = channels / p.groups;
  call.x_step = channels;
  call.x_line = call.width * call.x_step;
  call.x_image = call.height * call.x_line;
  call.outs = p.out_channels / p.groups;
  call.y_step = p.out_channels;
  call.range = range_of(p);
  return call;
}

bool reads_lines(const PackedConvolution& call) {
  constexpr int64_t kFewElements = 16;  // with more, loops over them are long enough
  return call.depth < kFewElements && call.x_step == call.depth && call.kernel[1] > 1 && call.dilate[1] == 1;
}

PaddedLines::PaddedLines(const PackedConvolution& call) {
  const auto reach = [&](int axis, int64_t positions) {
    return (positions - 1) * call.stride[axis] + (call.kernel[axis] - 1) * call.dilate[axis] + 1;
  };
  height = std::max(call.height + call.pad[0], reach(0, call.out_height));
  width = std::max(call.width + call.pad[1], reach(1, call.out_width));
}

void PaddedLines::use(PackedConvolution& call, const void* copy) const {
  call.x = copy;
  call.height = height;
  call.width = width;
  call.x_line = width * call.x_step;
  call.x_image = height * call.x_line;
  call.depth *= call.kernel[1];
  call.kernel[1] = 1;
  call.pad[0] = call.pad[1] = 0;
}

PackedTasks::PackedTasks(const ConvolutionProblem& p, const PackedConvolution& call, int64_t most_rows)
    : positions_{p.batch * p.out_size()} {
  constexpr double kTaskFlops = 1e6;  // worth a thread of its own
  const int64_t tile = packed_loops().rows, threads = num_threads(), wanted = threads == 1 ? 1 : 4 * threads;
  panels_ = ceil_divide(call.outs, packed_loops().columns);
  const double flops = 2.0 * static_cast<double>(positions_ * call.kernel[0] * call.kernel[1] * call.depth * call.outs);
  const int64_t most = std::clamp<int64_t>(static_cast<int64_t>(flops / kTaskFlops), 1, wanted);
  const int64_t blocks = ceil_divide(positions_, std::max(most_rows, tile));
  rows_ = round_up(ceil_divide(positions_, blocks), tile);
  blocks_ = ceil_divide(positions_, rows_);
  strips_ = std::min(panels_, ceil_divide(most, blocks_));
}

bool packed_supports(const ConvolutionProblem& p) {
  constexpr int64_t kFewestChannels = 8;  // of a group, for which whole tiles are worth it
  const bool has_dtype = p.element() == Dtype::float32 || (p.element() == Dtype::bfloat16 && has_bfloat16_dot());
  if (p.pass != ConvolutionPass::forward || !has_dtype || p.ndim > 2) return false;
  return p.groups == 1 || std::min(p.in_channels, p.out_channels) / p.groups >= kFewestChannels;
}

namespace {

/// x with zeros around it.
void pad_images(const ConvolutionProblem& p, const PackedConvolution& call, const PaddedLines& padded, float* copy) {
  const int64_t line = padded.width * call.depth, before = call.pad[1] * call.depth, inside = call.width * call.depth;
  parallel_for(p.batch * padded.height, std::max<int64_t>(1, (1 << 15) / line), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / padded.height, y = i % padded.height - call.pad[0];
      float* const to = copy + i * line;
      if (y < 0 || y >= call.height) {
        std::fill_n(to, line, 0.0f);
        continue;
      }
      std::fill_n(to, before, 0.0f);
      std::copy_n(static_cast<const float*>(call.x) + image * call.x_image + y * call.x_line, inside, to + before);
      std::fill_n(to + before + inside, line - before - inside, 0.0f);
    }
  });
}

void run_packed_group(const ConvolutionProblem& p, const PackedConvolution& call) {
  constexpr int64_t kMostRows = 96;  // their part of x stays in the second-level cache
  const PackedConvolutionLoops& loops = packed_loops();
  PackedTasks(p, call, kMostRows).run([&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    const int64_t whole = round_up(end - begin, loops.rows);
    const Scratch<const void*> addresses(whole * call.kernel[0] * call.kernel[1] + loops.rows);
    loops.run(call, begin, end, first, last, addresses.get());
    finish_packed(p, call, begin, end, first, last);
  });
}

}  // namespace

void finish_packed(const ConvolutionProblem& p, const PackedConvolution& call, int64_t begin, int64_t end,
                   int64_t first, int64_t last) {
  if (p.has_function == 0 || call.range.cut != ResultCut::none) return;
  const int64_t column = first * packed_loops().columns,
                columns = std::min(call.outs, last * packed_loops().columns) - column;
  float* const y = call.y + (begin - call.y_first) * call.y_step + column;
  if (columns == call.y_step) return apply_function(p, y, (end - begin) * columns);
  for (int64_t row = 0; row < end - begin; ++row) apply_function(p, y + row * call.y_step, columns);
}

void convolve_packed(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  static constexpr char kKey = 0;  // its address is the key
  if (p.element() == Dtype::bfloat16) return convolve_packed_bfloat16(p, a);
  const PackedConvolutionLoops& loops = packed_loops();
  PackedConvolution call = packed_geometry(p, p.in_channels);
  const int64_t terms = p.kernel_size() * call.depth, panels = ceil_divide(call.outs, loops.columns);
  const int64_t group_floats = panels * loops.columns * terms;
  const auto pack = [&](void* to) {
    const auto* const w = static_cast<const float*>(a.w.data());
    parallel_for(p.groups * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / panels, panel = i % panels;
        loops.pack(w + group * call.outs * terms, terms, call.outs, panel, panel + 1,
                   static_cast<float*>(to) + group * group_floats);
      }
    });
  };
  const auto bytes = static_cast<size_t>(p.groups * group_floats) * sizeof(float);
  const PackedWeights weights(a.kept_weights, &kKey, std::to_string(p.groups), bytes, pack);
  const auto offset = [](const void* from, int64_t floats) {
    return from != nullptr ? static_cast<const float*>(from) + floats : nullptr;
  };
  call.x = a.x;
  const PaddedLines padded(call);
  const bool is_padded = reads_lines(call);
  const Scratch<float> copy(is_padded ? p.batch * padded.height * padded.width * call.depth : 0);
  const Scratch<float> zeros(call.depth);
  if (is_padded) {
    pad_images(p, call, padded, copy.get());
    padded.use(call, copy.get());
  } else {
    std::fill_n(zeros.get(), call.depth, 0.0f);
  }
  call.zeros = zeros.get();
  for (int64_t i = 0; i < p.groups; ++i) {
    PackedConvolution group = call;
    group.x = static_cast<const float*>(call.x) + i * call.depth;
    group.w = static_cast<const float*>(weights.get()) + i * group_floats;
    group.bias = offset(a.bias, i * call.outs);
    group.z = offset(p.has_z != 0 ? a.z : nullptr, i * call.outs);
    group.y = static_cast<float*>(a.y) + i * call.outs;
    run_packed_group(p, group);
  }
}

}  // namespace kusari::cpu
