#include <algorithm>

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/convolution_depthwise.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/convolution.h"
#include "kusari/framework/cpu/matmul.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kWorkspaceBytes = 256 << 10;  // of the rows that one thread copies: they stay in its L2 cache
constexpr int64_t kFewTasks = 16;               // below so many, work is divided further
constexpr int64_t kFewestGroups = 8;            // loops over neighbouring channels need some

// What the three passes share.
class Im2col {
 public:
  Im2col(const ConvolutionProblem& p, const ConvolutionArrays& a)
      : p_{p},
        x_{static_cast<char*>(a.x)},
        w_{static_cast<char*>(a.w.data())},
        y_{static_cast<char*>(a.y)},
        bias_{static_cast<const char*>(a.bias)},
        size_{itemsize(p.element())},
        in_channels_{p.in_channels / p.groups},
        out_channels_{p.out_channels / p.groups},
        depth_{p.kernel_size() * in_channels_},
        rows_{p.batch * p.out_size()} {
    static const ConvolutionLoops& loops = *KUSARI_LOOPS(isa(), convolution_loops);
    loops_ = p.element() == Dtype::float64 ? &loops.f64 : &loops.f32;
    is_plain_ = is_matrix_product(p);
  }

  void forward() const {
    const int64_t chunk = chunk_rows(), chunks = ceil_divide(rows_, chunk);
    const int64_t width = divided_channels(out_channels_, p_.groups * chunks);
    const int64_t across = ceil_divide(out_channels_, width);
    run_tasks(p_.groups * chunks * across, [&](int64_t task) {
      const int64_t group = task / (chunks * across), row = task / across % chunks * chunk,
                    begin = task % across * width;
      const int64_t rows = std::min(chunk, rows_ - row), n = std::min(width, out_channels_ - begin);
      const int64_t channel = group * out_channels_ + begin;
      MatrixProduct product = {p_.element(), rows, n,      depth_,          nullptr,         depth_,       1,
                               w(channel),   1,    depth_, y(row, channel), p_.out_channels, bias(channel)};
      Array buffer;
      if (is_plain_) {
        product.a = x(row, group);
        product.a_row = p_.in_channels;
      } else {
        buffer = matrix(rows, depth_);
        gather(group, row, rows, 0, depth_, buffer);
        product.a = buffer.raw_data();
      }
      multiply_alone(product);
    });
  }

  void data_grad() const {
    if (is_plain_) return plain_data_grad();
    // Each task owns some elements of x: those of several small images, or of a part of one.
    const int64_t images = p_.batch * p_.groups, in = p_.in[0];
    const int64_t reach = p_.dilate[0] * (p_.kernel[0] - 1) + 1;
    const int64_t part = std::min(in, std::max(reach, ceil_divide(in, ceil_divide(kFewTasks, images))));
    const int64_t parts = ceil_divide(in, part);
    const int64_t several =
        parts > 1 ? 1 : std::clamp<int64_t>(std::min(64 / p_.out_size(), images / kFewTasks), 1, p_.batch);
    const int64_t batches = ceil_divide(p_.batch, several);
    run_tasks(p_.groups * batches * parts, [&](int64_t task) {
      const int64_t group = task / (batches * parts), image = task / parts % batches * several;
      const int64_t begin = task % parts * part;
      data_grad_of(group, image, std::min(image + several, p_.batch), begin, std::min(begin + part, in));
    });
  }

  void filter_grad() const {
    constexpr int64_t kColumns = 160, kRows = 256;  // most of a product
    const int64_t width = std::min(depth_, round_up(ceil_divide(depth_, ceil_divide(depth_, kColumns)), 16));
    const int64_t chunk = kWorkspaceBytes / (width * size_);
    const int64_t across = ceil_divide(depth_, width), down = ceil_divide(out_channels_, kRows);
    const int64_t tiles = p_.groups * across * down;
    // Where there are too few tiles, their rows are summed in parts, which are added in order.
    const int64_t parts = std::min(ceil_divide(kFewTasks, tiles), ceil_divide(rows_, chunk));
    const int64_t part = round_up(ceil_divide(rows_, parts), chunk), sums = ceil_divide(rows_, part);
    const int64_t size = p_.out_channels * depth_;
    const Array others = sums > 1 ? matrix(sums - 1, size) : Array();
    run_tasks(tiles * sums, [&](int64_t task) {
      const int64_t sum = task / tiles, group = task % tiles / (across * down);
      const int64_t column = task % across * width, channel = task / across % down * kRows;
      const int64_t n = std::min(width, depth_ - column), m = std::min(kRows, out_channels_ - channel);
      char* const first = sum == 0 ? w_ : others.data<char>() + (sum - 1) * size * size_;
      char* const target = first + ((group * out_channels_ + channel) * depth_ + column) * size_;
      const Array copied = is_plain_ ? Array() : matrix(chunk, n), product = matrix(m, n);
      const int64_t end = std::min(rows_, (sum + 1) * part);
      for (int64_t row = sum * part; row < end; row += chunk) {
        const int64_t rows = std::min(chunk, end - row);
        const bool is_first = row == sum * part;
        MatrixProduct call = {
            p_.element(),    m,       n, rows, y(row, group * out_channels_ + channel), 1,
            p_.out_channels, nullptr, n, 1,    is_first ? target : product.raw_data(),  is_first ? depth_ : n,
            nullptr};
        if (is_plain_) {
          call.b = x(row, group) + column * size_;
          call.b_row = p_.in_channels;
        } else {
          gather(group, row, rows, column, column + n, copied);
          call.b = copied.raw_data();
        }
        multiply_alone(call);
        if (!is_first) loops_->add(product.raw_data(), n, target, depth_, m, n);
      }
    });
    for (int64_t sum = 1; sum < sums; ++sum) {
      parallel_for(size, 1 << 16, [&](int64_t begin, int64_t end) {
        loops_->add(others.data<char>() + ((sum - 1) * size + begin) * size_, 0, w_ + begin * size_, 0, 1, end - begin);
      });
    }
  }

 private:
  const char* x(int64_t row, int64_t group) const { return x_ + (row * p_.in_channels + group * in_channels_) * size_; }
  char* y(int64_t row, int64_t channel) const { return y_ + (row * p_.out_channels + channel) * size_; }
  const char* w(int64_t channel) const { return w_ + channel * depth_ * size_; }
  const char* bias(int64_t channel) const { return bias_ != nullptr ? bias_ + channel * size_ : nullptr; }
  Array matrix(int64_t rows, int64_t columns) const { return empty({rows, columns}, p_.element()); }

  // Rows of y that are computed at a time.
  int64_t chunk_rows() const {
    const int64_t most = std::clamp<int64_t>(kWorkspaceBytes / (depth_ * size_), 32, 512);
    return round_up(ceil_divide(rows_, ceil_divide(rows_, most)), 8);
  }
  // Channels of a product, fewer than all where there are few tasks.
  static int64_t divided_channels(int64_t channels, int64_t tasks) {
    const int64_t parts = std::max<int64_t>(1, std::min(ceil_divide(kFewTasks, tasks), channels / 64));
    return round_up(ceil_divide(channels, parts), 16);
  }

  void gather(int64_t group, int64_t row, int64_t rows, int64_t first, int64_t end, const Array& to) const {
    const int64_t columns = end - first;
    Patches(p_, group, 0, p_.in[0]).visit(row, rows, first, end, [&](const Patches::Run& run) {
      char* const target = to.data<char>() + (run.row * columns + run.column) * size_;
      if (run.source < 0) {
        loops_->clear(target, columns, run.rows, run.n);
      } else {
        loops_->copy(x_ + run.source * size_, run.source_step, target, columns, run.rows, run.n);
      }
    });
  }

  void scatter(const Patches& patches, int64_t row, int64_t rows, const Array& from) const {
    patches.visit(row, rows, 0, depth_, [&](const Patches::Run& run) {
      if (run.source < 0) return;
      loops_->add(from.data<char>() + (run.row * depth_ + run.column) * size_, depth_, x_ + run.source * size_,
                  run.source_step, run.rows, run.n);
    });
  }

  // Elements [begin, end) of x's first spatial axis in some images, one if that is not all of the axis.
  void data_grad_of(int64_t group, int64_t image, int64_t end_image, int64_t begin, int64_t end) const {
    const int64_t in_line = p_.in_size() / p_.in[0], out_line = p_.out_size() / p_.out[0];
    for (int64_t n = image; n < end_image; ++n) {
      const int64_t first = n * p_.in_size() + begin * in_line, count = (end - begin) * in_line;
      char* const target = x_ + (first * p_.in_channels + group * in_channels_) * size_;
      if (bias_ != nullptr) {
        loops_->copy(bias(group * in_channels_), 0, target, p_.in_channels, count, in_channels_);
      } else {
        loops_->clear(target, p_.in_channels, count, in_channels_);
      }
    }
    // The lines of y from which the kernel reaches these elements.
    const int64_t reach = p_.dilate[0] * (p_.kernel[0] - 1);
    const int64_t low = std::max<int64_t>(0, ceil_divide(begin + p_.pad[0] - reach, p_.stride[0]));
    const int64_t high = std::min(p_.out[0], ceil_divide(end + p_.pad[0], p_.stride[0]));
    const bool whole = end_image - image > 1 || (begin == 0 && end == p_.in[0]);
    const int64_t first_row = image * p_.out_size() + (whole ? 0 : low * out_line);
    const int64_t end_row = whole ? end_image * p_.out_size() : image * p_.out_size() + high * out_line;
    const Patches patches(p_, group, begin, end);
    const int64_t chunk = chunk_rows();
    const Array buffer = first_row < end_row ? matrix(std::min(chunk, end_row - first_row), depth_) : Array();
    for (int64_t row = first_row; row < end_row; row += chunk) {
      const int64_t rows = std::min(chunk, end_row - row);
      multiply_alone({p_.element(), rows, depth_, out_channels_, y(row, group * out_channels_), p_.out_channels, 1,
                      w(group * out_channels_), depth_, 1, buffer.raw_data(), depth_, nullptr});
      scatter(patches, row, rows, buffer);
    }
  }

  void plain_data_grad() const {
    const int64_t chunk = chunk_rows(), chunks = ceil_divide(rows_, chunk);
    const int64_t width = divided_channels(in_channels_, p_.groups * chunks);
    const int64_t across = ceil_divide(in_channels_, width);
    run_tasks(p_.groups * chunks * across, [&](int64_t task) {
      const int64_t group = task / (chunks * across), row = task / across % chunks * chunk,
                    begin = task % across * width;
      const int64_t channel = group * in_channels_ + begin;
      multiply_alone({p_.element(), std::min(chunk, rows_ - row), std::min(width, in_channels_ - begin), out_channels_,
                      y(row, group * out_channels_), p_.out_channels, 1, w(group * out_channels_) + begin * size_,
                      depth_, 1, x_ + (row * p_.in_channels + channel) * size_, p_.in_channels, bias(channel)});
    });
  }

  const ConvolutionProblem& p_;
  char *x_, *w_, *y_;
  const char* bias_;
  int64_t size_, in_channels_, out_channels_;
  int64_t depth_;  // columns of the matrix of patches
  int64_t rows_;   // of all images
  const ConvolutionLoop* loops_;
  bool is_plain_;  // x is its own matrix of patches
};

}  // namespace

bool is_matrix_product(const ConvolutionProblem& p) {
  for (int i = 0; i < p.ndim; ++i) {
    if (p.kernel[i] != 1 || p.stride[i] != 1 || p.pad[i] != 0 || p.in[i] != p.out[i]) return false;
  }
  return true;
}

bool im2col_supports(const ConvolutionProblem& p) {
  if (p.element() != Dtype::bfloat16) return true;
  return p.pass == ConvolutionPass::filter_grad && p.groups == 1 && has_bfloat16_dot();
}

void convolve_im2col(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  if (p.element() == Dtype::bfloat16) return filter_grad_im2col_bfloat16(p, a);
  if (p.in_channels == p.groups && p.groups >= kFewestGroups) return convolve_depthwise(p, a);
  const Im2col im2col(p, a);
  switch (p.pass) {
    case ConvolutionPass::forward:
      return im2col.forward();
    case ConvolutionPass::data_grad:
      return im2col.data_grad();
    case ConvolutionPass::filter_grad:
      return im2col.filter_grad();
  }
}

}  // namespace kusari::cpu
