#include "kusari/framework/cpu/convolution_depthwise.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/convolution.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kChunkWork = 1 << 16;  // multiplications that one thread does at a time
constexpr int64_t kMostSums = 16;        // partial sums of a filter's gradient

// One element of the kernel along an axis, and the element of the source that it meets.
struct Meeting {
  int64_t k, at;
};

// Positions first, first + step, ... of a line of the result, which the same elements of the kernel reach.
struct Positions {
  int64_t first, step, count;
  int64_t source_step;            // in elements of the source's line, from one position to the next
  std::vector<Meeting> meetings;  // at the first position; may lie outside of the source
};

// The sizes as seen from the array that is computed. A channel of x is `multiplier` channels of y.
class Depthwise {
 public:
  Depthwise(const ConvolutionProblem& p, const ConvolutionArrays& a)
      : p_{p},
        a_{a},
        backward_{p.pass == ConvolutionPass::data_grad},
        last_{static_cast<int>(p.ndim) - 1},
        size_{itemsize(p.element())},
        channels_{p.in_channels},
        multiplier_{p.out_channels / p.in_channels},
        taps_{p.kernel_size()} {
    static const ConvolutionLoops& loops = *KUSARI_LOOPS(isa(), convolution_loops);
    loops_ = p.element() == Dtype::float64 ? &loops.f64 : &loops.f32;
  }

  // y from x, or the gradient of x from that of y.
  void image() const {
    // (multiplier, taps, channels): the loops want neighbouring channels.
    const Array weights = empty({multiplier_, taps_, channels_}, p_.element());
    transpose(static_cast<const char*>(a_.w.data()), channels_, multiplier_ * taps_, weights.data<char>());
    const int64_t bias_rows = backward_ ? 1 : multiplier_;
    const Array bias = a_.bias != nullptr ? empty({bias_rows, channels_}, p_.element()) : Array();
    if (a_.bias != nullptr) transpose(static_cast<const char*>(a_.bias), channels_, bias_rows, bias.data<char>());

    const std::vector<Positions> positions = line_positions();
    const int64_t width = result()[last_], lines = p_.batch * count(result()) / width;
    const int64_t work = width * taps_ * p_.out_channels;
    parallel_for(lines, std::max<int64_t>(1, kChunkWork / work), [&](int64_t begin, int64_t end) {
      LineTaps taps;
      for (int64_t line = begin; line < end; ++line) {
        outer_taps(line, taps);
        for (const Positions& some : positions) image_line(line, some, taps, weights, bias);
      }
    });
  }

  void filter_grad() const {
    const int64_t width = p_.out[last_], lines = p_.batch * p_.out_size() / width;
    const int64_t work = lines * width * taps_ * p_.out_channels;
    const int64_t sums = std::min(lines, std::clamp<int64_t>(work / (16 * kChunkWork), 1, kMostSums));
    const int64_t part = ceil_divide(lines, sums), elements = multiplier_ * taps_ * channels_;
    const Array acc = zeros({sums, multiplier_, taps_, channels_}, p_.element());
    parallel_for(sums, 1, [&](int64_t begin, int64_t end) {
      LineTaps taps;
      for (int64_t sum = begin; sum < end; ++sum) {
        char* const to = acc.data<char>() + sum * elements * size_;
        for (int64_t line = sum * part; line < std::min(lines, (sum + 1) * part); ++line) {
          outer_taps(line, taps);
          filter_line(line, taps, to);
        }
      }
    });
    for (int64_t sum = 1; sum < sums; ++sum) {
      loops_->add(acc.data<char>() + sum * elements * size_, 0, acc.raw_data(), 0, 1, elements);
    }
    transpose(acc.data<char>(), multiplier_ * taps_, channels_, static_cast<char*>(a_.w.data()));
  }

 private:
  // Of one line of the result: lines of the kernel, and the lines of the source that they meet.
  using LineTaps = std::vector<Meeting>;

  const int64_t* result() const { return backward_ ? p_.in : p_.out; }
  const int64_t* source() const { return backward_ ? p_.out : p_.in; }
  int64_t count(const int64_t* sizes) const {
    int64_t n = 1;
    for (int i = 0; i <= last_; ++i) n *= sizes[i];
    return n;
  }

  // to[j][i] = from[i][j].
  void transpose(const char* from, int64_t rows, int64_t columns, char* to) const {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(from + (i * columns + j) * size_, size_, to + (j * rows + i) * size_);
      }
    }
  }

  // Where element k of the kernel meets the source when it makes element `at` of the result; false: between two.
  bool meet(int axis, int64_t at, int64_t k, int64_t& met) const {
    if (!backward_) {
      met = at * p_.stride[axis] - p_.pad[axis] + k * p_.dilate[axis];
      return true;
    }
    const int64_t distance = at + p_.pad[axis] - k * p_.dilate[axis];
    met = distance / p_.stride[axis];
    return distance % p_.stride[axis] == 0;
  }

  // The positions of a line. In the gradient of x they fall in classes by their remainder modulo the stride.
  std::vector<Positions> line_positions() const {
    const int64_t width = result()[last_], classes = backward_ ? p_.stride[last_] : 1;
    std::vector<Positions> all;
    for (int64_t first = 0; first < std::min(classes, width); ++first) {
      Positions some = {first, classes, ceil_divide(width - first, classes), backward_ ? 1 : p_.stride[last_], {}};
      for (int64_t k = 0; k < p_.kernel[last_]; ++k) {
        int64_t at = 0;
        if (meet(last_, first, k, at)) some.meetings.push_back({k, at});
      }
      all.push_back(std::move(some));
    }
    return all;
  }

  // `line` counts the lines of the result in all images.
  void outer_taps(int64_t line, LineTaps& taps) const {
    taps.clear();
    for (int64_t outer = 0; outer < taps_ / p_.kernel[last_]; ++outer) {
      int64_t offset = 0, step = 1, at = line, k = outer;
      bool inside = true;
      for (int i = last_ - 1; i >= 0 && inside; --i) {
        int64_t met = 0;
        inside = meet(i, at % result()[i], k % p_.kernel[i], met) && met >= 0 && met < source()[i];
        offset += met * step;
        step *= source()[i];
        at /= result()[i];
        k /= p_.kernel[i];
      }
      if (inside) taps.push_back({outer, at * step + offset});
    }
  }

  // Positions [begin, end) of `some`; every meeting that counts is inside of the source for all of them.
  void image_range(int64_t line, const Positions& some, int64_t begin, int64_t end, const LineTaps& lines,
                   const Array& weights, const Array& bias) const {
    if (begin >= end) return;
    const int64_t source_channels = backward_ ? p_.out_channels : channels_;
    const int64_t result_channels = backward_ ? channels_ : p_.out_channels;
    const int64_t width = source()[last_];
    std::vector<int64_t> source_offsets, w_offsets;
    const auto add_taps = [&](int64_t m) {
      for (const Meeting& outer : lines) {
        for (const Meeting& inner : some.meetings) {
          const int64_t at = inner.at + begin * some.source_step;
          if (at < 0 || at >= width) continue;
          source_offsets.push_back((outer.at * width + at) * source_channels + (backward_ ? m : 0));
          w_offsets.push_back(((m * taps_) + outer.k * p_.kernel[last_] + inner.k) * channels_);
        }
      }
    };
    const auto run = [&](int64_t m) {
      const int64_t first = line * result()[last_] + some.first + begin * some.step;
      loops_->depthwise({channels_, end - begin, static_cast<int64_t>(w_offsets.size()), backward_ ? a_.y : a_.x,
                         some.source_step * source_channels, backward_ ? multiplier_ : 1, source_offsets.data(),
                         weights.raw_data(), w_offsets.data(),
                         bias.is_defined() ? bias.data<char>() + m * channels_ * size_ : nullptr,
                         static_cast<char*>(backward_ ? a_.x : a_.y) + (first * result_channels + m) * size_,
                         some.step * result_channels, backward_ ? 1 : multiplier_});
    };
    if (backward_) {
      for (int64_t m = 0; m < multiplier_; ++m) add_taps(m);
      run(0);
      return;
    }
    for (int64_t m = 0; m < multiplier_; ++m) {
      source_offsets.clear();
      w_offsets.clear();
      add_taps(m);
      run(m);
    }
  }

  void image_line(int64_t line, const Positions& some, const LineTaps& lines, const Array& weights,
                  const Array& bias) const {
    // Between `begin` and `end` all of the kernel lies inside of the source.
    int64_t begin = 0, end = some.count;
    for (const Meeting& inner : some.meetings) {
      begin = std::max(begin, ceil_divide(-inner.at, some.source_step));
      end = std::min(end, ceil_divide(source()[last_] - inner.at, some.source_step));
    }
    if (begin >= end) begin = end = some.count;
    for (int64_t i = 0; i < begin; ++i) image_range(line, some, i, i + 1, lines, weights, bias);
    image_range(line, some, begin, end, lines, weights, bias);
    for (int64_t i = end; i < some.count; ++i) image_range(line, some, i, i + 1, lines, weights, bias);
  }

  void filter_line(int64_t line, const LineTaps& lines, char* acc) const {
    const int64_t stride = p_.stride[last_], width = p_.in[last_];
    for (const Meeting& outer : lines) {
      for (int64_t k = 0; k < p_.kernel[last_]; ++k) {
        const int64_t shift = k * p_.dilate[last_] - p_.pad[last_];
        const int64_t begin = std::max<int64_t>(0, ceil_divide(-shift, stride));
        const int64_t end = std::min(p_.out[last_], ceil_divide(width - shift, stride));
        if (begin >= end) continue;
        const int64_t x = (outer.at * width + begin * stride + shift) * channels_;
        for (int64_t m = 0; m < multiplier_; ++m) {
          const int64_t y = (line * p_.out[last_] + begin) * p_.out_channels + m;
          loops_->depthwise_filter({channels_, end - begin, static_cast<const char*>(a_.x) + x * size_,
                                    stride * channels_, static_cast<const char*>(a_.y) + y * size_, p_.out_channels,
                                    multiplier_,
                                    acc + (m * taps_ + outer.k * p_.kernel[last_] + k) * channels_ * size_});
        }
      }
    }
  }

  const ConvolutionProblem& p_;
  const ConvolutionArrays& a_;
  bool backward_;
  int last_;
  int64_t size_, channels_, multiplier_, taps_;
  const ConvolutionLoop* loops_;
};

}  // namespace

void convolve_depthwise(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  const Depthwise depthwise(p, a);
  if (p.pass == ConvolutionPass::filter_grad) {
    depthwise.filter_grad();
  } else {
    depthwise.image();
  }
}

}  // namespace kusari::cpu
