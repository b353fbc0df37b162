#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/convolution.h"

namespace kusari::cpu {

/// Calls body(task) for each of them, on all threads.
template <class Body>
void run_tasks(int64_t tasks, const Body& body) {
  parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) body(task);
  });
}

/// Elements of x that the positions of the kernel see, read or written as a matrix: a row for each position of y (of
/// all images, in order), a column for each position of the kernel and channel of the group.
class Patches {
 public:
  /// Of x's first spatial axis only [begin, end) counts; the rest is like padding.
  Patches(const ConvolutionProblem& p, int64_t group, int64_t begin, int64_t end)
      : p_{p}, group_{group}, begin_{begin}, end_{end}, last_{static_cast<int>(p.ndim) - 1} {
    channels_ = p.in_channels / p.groups;
    line_ = p.kernel[last_] * channels_;
    joined_ = p.groups == 1 && p.dilate[last_] == 1;
  }

  struct Run {
    int64_t source;  // the first element in x, or -1: all are zeros
    int64_t source_step;
    int64_t row, rows;  // of the matrix
    int64_t column, n;  // neighbouring columns are neighbours in x
  };

  /// Calls body(run) for rows [row, row + rows) and columns [first, end), both counted from there in the runs.
  template <class Body>
  void visit(int64_t row, int64_t rows, int64_t first, int64_t end, const Body& body) const {
    const int64_t width = p_.out[last_];
    for (int64_t done = 0; done < rows;) {
      const int64_t from = (row + done) % width, count = std::min(rows - done, width - from);
      const Line line = {done - from, from, from + count, first, end};
      for (int64_t outer = first / line_; outer * line_ < end; ++outer) {
        visit_line(line, outer, outer_offset((row + done) / width, outer), body);
      }
      done += count;
    }
  }

 private:
  // Positions [from, to) of a line of y; position i is row number row + i.
  struct Line {
    int64_t row, from, to;
    int64_t first_column, end_column;
  };

  // The line of x that the kernel's line `outer` meets when it is at line number `line` of y; -1: there is none.
  int64_t outer_offset(int64_t line, int64_t outer) const {
    int64_t offset = 0, step = 1;
    for (int i = last_ - 1; i >= 0; --i) {
      const int64_t at = line % p_.out[i] * p_.stride[i] - p_.pad[i] + outer % p_.kernel[i] * p_.dilate[i];
      if (at < low(i) || at >= high(i)) return -1;
      offset += at * step;
      step *= p_.in[i];
      line /= p_.out[i];
      outer /= p_.kernel[i];
    }
    return line * step + offset;
  }

  template <class Body>
  void visit_line(const Line& line, int64_t outer, int64_t x_line, const Body& body) const {
    const int64_t start = outer * line_;
    const int64_t first = std::max(line.first_column, start), end = std::min(line.end_column, start + line_);
    if (x_line < 0) {
      body(Run{-1, 0, line.row + line.from, line.to - line.from, first - line.first_column, end - first});
      return;
    }
    int64_t from = line.from, to = line.from;  // where all of the kernel's line lies in x
    if (joined_) {
      const int64_t stride = p_.stride[last_], pad = p_.pad[last_];
      from = std::clamp(ceil_divide(low(last_) + pad, stride), line.from, line.to);
      to = std::clamp(ceil_divide(high(last_) - p_.kernel[last_] + 1 + pad, stride), from, line.to);
      if (from < to) {
        const int64_t x = x_line * p_.in[last_] + from * stride - pad;
        body(Run{x * p_.in_channels + first - start, stride * p_.in_channels, line.row + from, to - from,
                 first - line.first_column, end - first});
      }
    }
    visit_taps(line, line.from, from, start, first, end, x_line, body);
    visit_taps(line, to, line.to, start, first, end, x_line, body);
  }

  template <class Body>
  void visit_taps(const Line& line, int64_t from, int64_t to, int64_t start, int64_t first, int64_t end, int64_t x_line,
                  const Body& body) const {
    if (from >= to) return;
    const int64_t stride = p_.stride[last_];
    for (int64_t column = first; column < end;) {
      const int64_t tap = (column - start) / channels_, channel = (column - start) % channels_;
      const int64_t n = std::min(channels_ - channel, end - column);
      const int64_t shift = tap * p_.dilate[last_] - p_.pad[last_];
      const int64_t lo = std::clamp(ceil_divide(low(last_) - shift, stride), from, to);
      const int64_t hi = std::clamp(ceil_divide(high(last_) - shift, stride), lo, to);
      const int64_t at = column - line.first_column;
      if (from < lo) body(Run{-1, 0, line.row + from, lo - from, at, n});
      if (lo < hi) {
        const int64_t x = x_line * p_.in[last_] + lo * stride + shift;
        body(Run{x * p_.in_channels + group_ * channels_ + channel, stride * p_.in_channels, line.row + lo, hi - lo, at,
                 n});
      }
      if (hi < to) body(Run{-1, 0, line.row + hi, to - hi, at, n});
      column += n;
    }
  }

  int64_t low(int axis) const { return axis == 0 ? begin_ : 0; }
  int64_t high(int axis) const { return axis == 0 ? end_ : p_.in[axis]; }

  const ConvolutionProblem& p_;
  int64_t group_, begin_, end_;
  int last_;
  int64_t channels_, line_;
  bool joined_;  // a line of the kernel meets neighbours
};

/// Whether x is its own matrix of patches.
bool is_matrix_product(const ConvolutionProblem& p);

/// The filter gradient of bfloat16, without groups, where the processor has_bfloat16_dot().
void filter_grad_im2col_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a);

}  // namespace kusari::cpu
