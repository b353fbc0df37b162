#include <algorithm>
#include <cstdint>
#include <string>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_packed.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/bfloat16_packed_convolution.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

const Bfloat16PackedLoops& bfloat16_packed() {
  static const Bfloat16PackedLoops& chosen = *KUSARI_BFLOAT16_LOOPS(bfloat16_packed_loops);
  return chosen;
}

/// Of a group, and with zeros behind an odd number of them.
int64_t channels_of_group(const ConvolutionProblem& p) { return p.in_channels / p.groups; }
int64_t filled_channels(const ConvolutionProblem& p) { return round_up(channels_of_group(p), 2); }

/// The weights as pairs of bfloat16 in panels, group by group.
class Bfloat16Weights {
 public:
  Bfloat16Weights(const ConvolutionProblem& p, const PackedConvolution& call, const ConvolutionArrays& a)
      : terms_{p.kernel_size() * call.depth},
        panels_{ceil_divide(call.outs, packed_loops().columns)},
        weights_{a.kept_weights, &kKey, std::to_string(p.groups),
                 static_cast<size_t>(p.groups * group_pairs()) * sizeof(uint32_t),
                 [&](void* to) { pack(p, call.outs, a.w, static_cast<float*>(to)); }} {}
  const void* group(int64_t i) const { return static_cast<const uint32_t*>(weights_.get()) + i * group_pairs(); }

 private:
  static constexpr char kKey = 0;  // its address is the key
  int64_t group_pairs() const { return panels_ * packed_loops().columns * terms_; }

  /// Pairs are moved like float32 numbers.
  void pack(const ConvolutionProblem& p, int64_t outs, const ConvolutionWeights& w, float* to) const {
    const int64_t channels = channels_of_group(p), filled = filled_channels(p), taps = p.kernel_size();
    const bool is_ready = w.array().dtype() == Dtype::bfloat16 && channels == filled && !is_between_words(w.data());
    const Scratch<uint16_t> copy(is_ready ? 0 : p.out_channels * taps * filled);
    if (!is_ready) {
      const ConvertLoop convert = convert_loop(w.array().dtype(), Dtype::bfloat16);
      const int64_t row = taps * channels, row_bytes = row * itemsize(w.array().dtype());
      const auto* const from = static_cast<const char*>(w.data());
      parallel_for(p.out_channels, 8, [&](int64_t begin, int64_t end) {
        const Scratch<uint16_t> narrow(row);
        for (int64_t o = begin; o < end; ++o) {
          convert(from + o * row_bytes, narrow.get(), row);
          bfloat16_packed().fill_up(narrow.get(), taps, channels, filled, copy.get() + o * taps * filled);
        }
      });
    }
    const auto* const pairs = static_cast<const float*>(is_ready ? w.data() : copy.get());
    parallel_for(p.groups * panels_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / panels_, panel = i % panels_;
        packed_loops().pack(pairs + group * outs * terms_, terms_, outs, panel, panel + 1, to + group * group_pairs());
      }
    });
  }

  int64_t terms_, panels_;
  PackedWeights weights_;
};

/// x as pairs of channels: as it is, or a copy with zeros behind an odd number of them and, where the call reads lines,
/// around the images.
class Bfloat16Images {
 public:
  Bfloat16Images(const ConvolutionProblem& p, PackedConvolution& call, const void* x)
      : is_padded_{reads_lines(call)},
        padded_{call},
        is_copied_{is_padded_ || filled_channels(p) != channels_of_group(p) || is_between_words(x)},
        height_{is_padded_ ? padded_.height : call.height},
        line_{(is_padded_ ? padded_.width : call.width) * p.groups * filled_channels(p)},
        copy_{is_copied_ ? p.batch * height_ * line_ : 0} {
    call.x = x;
    if (!is_copied_) return;
    const int64_t channels = channels_of_group(p), filled = filled_channels(p), top = is_padded_ ? call.pad[0] : 0;
    const int64_t before = is_padded_ ? call.pad[1] * filled : 0, inside = call.width * p.groups * filled;
    parallel_for(p.batch * height_, std::max<int64_t>(1, (1 << 15) / line_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / height_, y = i % height_ - top;
        uint16_t* const to = copy_.get() + i * line_;
        if (y < 0 || y >= call.height) {
          std::fill_n(to, line_, uint16_t{0});
          continue;
        }
        const auto* const from =
            static_cast<const uint16_t*>(x) + (image * call.height + y) * call.width * p.in_channels;
        std::fill_n(to, before, uint16_t{0});
        bfloat16_packed().fill_up(from, call.width * p.groups, channels, filled, to + before);
        std::fill_n(to + before + inside, line_ - before - inside, uint16_t{0});
      }
    });
    call.x = copy_.get();
    if (is_padded_) padded_.use(call, copy_.get());
  }

 private:
  bool is_padded_;
  PaddedLines padded_;
  bool is_copied_;
  int64_t height_, line_;
  Scratch<uint16_t> copy_;
};

/// `sums`: the problem of float32 results. Where the loops do not cut, these are made in memory, as many at a time as
/// stay in the cache for the function.
void run_bfloat16_group(const ConvolutionProblem& sums, const PackedConvolution& call, const PackedBfloat16& results) {
  const PackedConvolutionLoops& loops = packed_loops();
  // Their part of x stays in the second-level cache; of few terms, more rows are worth a task.
  const int64_t terms = call.kernel[0] * call.kernel[1] * call.depth;
  const int64_t most = std::clamp<int64_t>((3 << 13) / terms, 96, 384);
  const bool is_cut = sums.has_function == 0 || call.range.cut != ResultCut::none;
  const int64_t cached = (int64_t{1} << 15) / call.y_step / loops.rows * loops.rows;
  const int64_t rows = is_cut ? most : std::clamp<int64_t>(cached, loops.rows, most);
  const PackedBfloat16 to = {results.z, is_cut ? results.y : nullptr};
  PackedTasks(sums, call, rows).run([&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    const int64_t whole = round_up(end - begin, loops.rows);
    const Scratch<const void*> addresses(whole * call.kernel[0] * call.kernel[1] + loops.rows);
    const Scratch<float> values((end - begin) * call.y_step);
    PackedConvolution task = call;
    task.y = values.get();
    task.y_first = begin;
    task.bfloat16 = &to;
    bfloat16_packed().run(task, begin, end, first, last, addresses.get());
    if (is_cut) return;
    finish_packed(sums, task, begin, end, first, last);
    const ConvertLoop narrow = convert_loop(Dtype::float32, Dtype::bfloat16);
    const int64_t column = first * loops.columns, columns = std::min(call.outs, last * loops.columns) - column;
    const bool is_whole = columns == call.y_step;
    const int64_t lines = is_whole ? 1 : end - begin, n = is_whole ? (end - begin) * columns : columns;
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t place = line * call.y_step + column;
      narrow(values.get() + place, results.y + begin * call.y_step + place, n);
    }
  });
}

}  // namespace

void convolve_packed_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  ConvolutionProblem sums = p;
  sums.dtype = sums.w_dtype = static_cast<int64_t>(Dtype::float32);
  PackedConvolution call = packed_geometry(sums, p.groups * filled_channels(p) / 2);
  const Bfloat16Weights weights(p, call, a);
  const Bfloat16Images images(p, call, a.x);
  const Scratch<uint32_t> zeros(call.depth);
  std::fill_n(zeros.get(), call.depth, 0u);
  call.zeros = zeros.get();
  for (int64_t i = 0; i < p.groups; ++i) {
    const int64_t channel = i * call.outs;
    PackedConvolution group = call;
    group.x = static_cast<const uint32_t*>(call.x) + i * call.depth;
    group.w = weights.group(i);
    group.bias = a.bias != nullptr ? static_cast<const float*>(a.bias) + channel : nullptr;
    const PackedBfloat16 results = {p.has_z != 0 ? static_cast<const uint16_t*>(a.z) + channel : nullptr,
                                    static_cast<uint16_t*>(a.y) + channel};
    run_bfloat16_group(sums, group, results);
  }
}

}  // namespace kusari::cpu
