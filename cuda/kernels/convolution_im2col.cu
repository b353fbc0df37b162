#include "kusari/cuda/kernels/convolution_im2col.h"

#include <algorithm>
#include <utility>

#include "kusari/cuda/kernels/convolution_depthwise.h"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/cuda/libraries/im2col_chunk.h"
#include "kusari/cuda/libraries/matmul.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsOfThread = 8;

// The sizes as kernels want them: kAxes spatial axes, leading ones of size 1 where there are fewer.
template <int kAxes>
struct Window {
  Divisor out[kAxes], kernel[kAxes], stride[kAxes], in[kAxes];
  int32_t pad[kAxes], dilate[kAxes];
};

// Everything about one convolution that does not depend on the pass.
struct Sizes {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in_size = 1, out_size = 1, kernel_size = 1;
  bool is_plain = true;  // each position of y sees one of x, the same one

  Sizes(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y)
      : batch{x.shape()[0]}, in_channels{x.shape()[1]}, out_channels{y.shape()[1]}, groups{g.groups} {
    for (int i = 0; i < g.ndim; ++i) {
      in_size *= x.shape()[i + 2];
      out_size *= y.shape()[i + 2];
      kernel_size *= W.shape()[i + 2];
      is_plain = is_plain && W.shape()[i + 2] == 1 && g.stride[i] == 1 && g.pad[i] == 0 &&
                 x.shape()[i + 2] == y.shape()[i + 2];
    }
  }
  int64_t rows() const { return batch * out_size; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  int64_t depth() const { return kernel_size * group_in(); }
};

template <int kAxes>
Window<kAxes> window_of(const kernels::Convolution& g, const Array& x, const Array& W, const Array& y) {
  Window<kAxes> window;
  for (int axis = 0; axis < kAxes; ++axis) {
    const int own = axis - (kAxes - g.ndim);
    const bool is_own = own >= 0;
    window.in[axis] = Divisor(is_own ? x.shape()[own + 2] : 1);
    window.out[axis] = Divisor(is_own ? y.shape()[own + 2] : 1);
    window.kernel[axis] = Divisor(is_own ? W.shape()[own + 2] : 1);
    window.stride[axis] = Divisor(is_own ? g.stride[own] : 1);
    window.pad[axis] = is_own ? static_cast<int32_t>(g.pad[own]) : 0;
    window.dilate[axis] = is_own ? static_cast<int32_t>(g.dilate[own]) : 1;
  }
  return window;
}

// Patches: for each group a matrix with a row for each position of y and a column for each position of the kernel and
// channel of the group. Here its rows [0, rows) belong to the positions from number `first` of the image at x. A thread
// copies one word of several rows; widths are in words.
template <class Word, int kAxes>
__global__ void __launch_bounds__(kThreads)
    copy_patches(const Word* x, Word* patches, Window<kAxes> window, uint32_t first, uint32_t rows, Divisor lanes,
                 Divisor width, Divisor group_channels, uint32_t channels, uint32_t groups) {
  const uint32_t sub = lanes.quotient(threadIdx.x), lane = threadIdx.x - sub * lanes.value();
  const uint32_t subs = lanes.quotient(kThreads), column = blockIdx.y * lanes.value() + lane;
  if (sub >= subs || column >= groups * width.value()) return;
  const uint32_t group = width.quotient(column), within = column - group * width.value();
  uint32_t tap = group_channels.quotient(within);
  const uint32_t channel = group * group_channels.value() + within - tap * group_channels.value();
  int32_t shift[kAxes];
#pragma unroll
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    const uint32_t outer = window.kernel[axis].quotient(tap);
    shift[axis] =
        static_cast<int32_t>(tap - outer * window.kernel[axis].value()) * window.dilate[axis] - window.pad[axis];
    tap = outer;
  }
  Word* const target = patches + static_cast<int64_t>(group) * rows * width.value() + within;
  const uint32_t begin = blockIdx.x * subs * kRowsOfThread + sub;
  Word words[kRowsOfThread] = {};  // all are read before the first is written
#pragma unroll
  for (int i = 0; i < kRowsOfThread; ++i) {
    uint32_t position = first + begin + static_cast<uint32_t>(i) * subs;
    bool is_inside = begin + static_cast<uint32_t>(i) * subs < rows;
    int32_t at[kAxes];
#pragma unroll
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const uint32_t outer = window.out[axis].quotient(position);
      at[axis] = static_cast<int32_t>((position - outer * window.out[axis].value()) * window.stride[axis].value()) +
                 shift[axis];
      is_inside = is_inside && at[axis] >= 0 && at[axis] < static_cast<int32_t>(window.in[axis].value());
      position = outer;
    }
    int64_t source = position;  // the image
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) source = source * window.in[axis].value() + at[axis];
    if (is_inside) words[i] = x[source * channels + channel];
  }
#pragma unroll
  for (int i = 0; i < kRowsOfThread; ++i) {
    const uint32_t row = begin + static_cast<uint32_t>(i) * subs;
    if (row < rows) target[static_cast<int64_t>(row) * width.value()] = words[i];
  }
}

// gx: each of its elements gathers those of the patches that were copied from it. Of whole images; the patches are in
// Compute<T>. A thread makes kPack channels of one position.
template <class T, int kAxes, int kPack>
__global__ void __launch_bounds__(kThreads)
    gather_patches(const Compute<T>* patches, const T* bias, T* gx, Window<kAxes> window, int64_t items, int64_t rows,
                   uint32_t taps, Divisor packs, Divisor group_packs) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; item < items; item += step) {
    int64_t image = item / packs.value();
    const auto pack = static_cast<uint32_t>(item - image * packs.value());
    const uint32_t group = group_packs.quotient(pack);
    int32_t base[kAxes], tap_at[kAxes];
#pragma unroll
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const int64_t outer = image / window.in[axis].value();
      base[axis] = static_cast<int32_t>(image - outer * window.in[axis].value()) + window.pad[axis];
      tap_at[axis] = 0;
      image = outer;
    }
    Compute<T> sum[kPack];
    for (int i = 0; i < kPack; ++i) sum[i] = bias != nullptr ? widen(bias[pack * kPack + i]) : Compute<T>{0};
    for (uint32_t tap = 0; tap < taps; ++tap) {
      bool meets = true;
      int64_t row = image;
#pragma unroll
      for (int axis = 0; axis < kAxes; ++axis) {
        const int32_t at = base[axis] - tap_at[axis] * window.dilate[axis];
        const uint32_t position = at >= 0 ? window.stride[axis].quotient(static_cast<uint32_t>(at)) : 0;
        meets = meets && at >= 0 && position < window.out[axis].value() &&
                position * window.stride[axis].value() == static_cast<uint32_t>(at);
        row = row * window.out[axis].value() + position;
      }
      if (meets) {
        const int64_t source =
            ((group * rows + row) * taps + tap) * group_packs.value() + (pack - group * group_packs.value());
        const Pack<Compute<T>, kPack> values = load_pack<kPack>(patches, source);
        for (int i = 0; i < kPack; ++i) sum[i] += values.at[i];
      }
      bool carries = true;
#pragma unroll
      for (int axis = kAxes - 1; axis >= 0; --axis) {
        if (!carries) continue;
        carries = ++tap_at[axis] == static_cast<int32_t>(window.kernel[axis].value());
        if (carries) tap_at[axis] = 0;
      }
    }
    Pack<T, kPack> result;
    for (int i = 0; i < kPack; ++i) result.at[i] = narrow<T>(sum[i]);
    store_pack<kPack>(gx, item, result);
  }
}

// Calls f.template operator()<kAxes>() with as many axes as kernels are compiled for.
template <class F>
void visit_axes(int ndim, F&& f) {
  if (ndim <= 2) {
    f.template operator()<2>();
  } else {
    f.template operator()<kernels::kMaxSpatial>();
  }
}

// One pass over arrays whose channels are innermost, without gaps, of one floating dtype.
class Im2col {
 public:
  Im2col(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& y)
      : context_{Context::of(x)}, g_{geometry}, sizes_{geometry, x, W, y}, x_{x}, w_{W}, y_{y}, dtype_{x.dtype()} {}

  void forward(const Array& bias) const {
    MatrixProduct p = product(sizes_.group_out(), sizes_.depth());
    p.b = {w_.data<char>(), dtype_, 1, sizes_.depth()};
    p.c = {y_.data<char>(), dtype_, sizes_.out_channels, 1};
    const int64_t size = itemsize(dtype_);
    if (bias.is_defined() && sizes_.groups == 1) p.bias = bias.raw_data();
    if (bias.is_defined() && sizes_.groups > 1) {
      add_bias(y_, bias, sizes_.rows());
      p.accumulate = true;
    }
    if (sizes_.is_plain) {
      p.m = sizes_.rows();
      p.a = {x_.data<char>(), dtype_, sizes_.in_channels, 1};
      p.add_batch_axis({sizes_.groups, sizes_.group_in(), sizes_.group_out() * sizes_.depth(), sizes_.group_out()});
      return multiply(context_, p);
    }
    const int64_t chunk = chunk_rows(size);
    const Scratch patches = scratch(chunk, size);
    for (int64_t row = 0; row < sizes_.rows(); row += chunk) {
      const int64_t rows = std::min(chunk, sizes_.rows() - row);
      copy(row, rows, patches.data<char>());
      MatrixProduct part = p;
      part.m = rows;
      part.a = {patches.data<char>(), dtype_, sizes_.depth(), 1};
      part.c.data += row * sizes_.out_channels * size;
      part.add_batch_axis(
          {sizes_.groups, rows * sizes_.depth(), sizes_.group_out() * sizes_.depth(), sizes_.group_out()});
      multiply(context_, part);
    }
  }

  void data_grad(const Array& bias) const {
    MatrixProduct p = product(sizes_.depth(), sizes_.group_out());
    p.a = {y_.data<char>(), dtype_, sizes_.out_channels, 1};
    p.b = {w_.data<char>(), dtype_, sizes_.depth(), 1};
    if (sizes_.is_plain) {
      p.m = sizes_.rows();
      p.c = {x_.data<char>(), dtype_, sizes_.in_channels, 1};
      if (bias.is_defined()) {
        add_bias(x_, bias, sizes_.rows());
        p.accumulate = true;
      }
      p.add_batch_axis({sizes_.groups, sizes_.group_out(), sizes_.group_out() * sizes_.depth(), sizes_.group_in()});
      return multiply(context_, p);
    }
    // The products are kept in float32, where an element's are summed.
    const Dtype wide = dtype_ == Dtype::float64 ? dtype_ : Dtype::float32;
    const int64_t images = std::clamp<int64_t>(chunk_rows(itemsize(wide)) / sizes_.out_size, 1, sizes_.batch);
    const Scratch patches = scratch(images * sizes_.out_size, itemsize(wide));
    for (int64_t image = 0; image < sizes_.batch; image += images) {
      const int64_t count = std::min(images, sizes_.batch - image), rows = count * sizes_.out_size;
      MatrixProduct part = p;
      part.m = rows;
      part.a.data += image * sizes_.out_size * sizes_.out_channels * itemsize(dtype_);
      part.c = {patches.data<char>(), wide, sizes_.depth(), 1};
      part.add_batch_axis(
          {sizes_.groups, sizes_.group_out(), sizes_.group_out() * sizes_.depth(), rows * sizes_.depth()});
      multiply(context_, part);
      visit_floating(dtype_, [&]<class T>() { gather<T>(image, count, patches.data<void>(), bias); });
    }
  }

  // W is float32 or of the images' dtype.
  void filter_grad() const {
    MatrixProduct p = product(sizes_.depth(), 0);
    p.m = sizes_.group_out();
    p.c = {w_.data<char>(), w_.dtype(), sizes_.depth(), 1};
    const auto step = [&](int64_t rows, int64_t b_step) {
      return BatchAxis{sizes_.groups, sizes_.group_out(), b_step * rows, sizes_.group_out() * sizes_.depth()};
    };
    const int64_t size = itemsize(dtype_);
    if (sizes_.is_plain) {
      p.k = sizes_.rows();
      p.a = {y_.data<char>(), dtype_, 1, sizes_.out_channels};
      p.b = {x_.data<char>(), dtype_, sizes_.in_channels, 1};
      p.add_batch_axis(step(1, sizes_.group_in()));
      return multiply(context_, p);
    }
    const int64_t chunk = chunk_rows(size);
    const Scratch patches = scratch(chunk, size);
    for (int64_t row = 0; row < sizes_.rows(); row += chunk) {
      const int64_t rows = std::min(chunk, sizes_.rows() - row);
      copy(row, rows, patches.data<char>());
      MatrixProduct part = p;
      part.k = rows;
      part.a = {y_.data<char>() + row * sizes_.out_channels * size, dtype_, 1, sizes_.out_channels};
      part.b = {patches.data<char>(), dtype_, sizes_.depth(), 1};
      part.accumulate = row > 0;
      part.add_batch_axis(step(rows, sizes_.depth()));
      multiply(context_, part);
    }
  }

  /// Whether filter_grad adds up several products.
  bool has_several_chunks() const { return !sizes_.is_plain && chunk_rows(itemsize(dtype_)) < sizes_.rows(); }

 private:
  MatrixProduct product(int64_t n, int64_t k) const {
    MatrixProduct p;
    p.n = n;
    p.k = k;
    return p;
  }

  int64_t chunk_rows(int64_t size) const {
    constexpr size_t kEnough = size_t{64} << 20;  // products of larger chunks are no faster
    const size_t limit = std::min(context_.workspace_limit(), kEnough);
    return rows_of_chunk(sizes_.rows(), sizes_.depth() * sizes_.groups * size, limit);
  }
  Scratch scratch(int64_t rows, int64_t size) const {
    return Scratch(context_, static_cast<size_t>(rows * sizes_.depth() * sizes_.groups * size));
  }

  // target: (rows, channels), becomes the bias in each row.
  void add_bias(const Array& target, const Array& bias, int64_t rows) const {
    MatrixProduct p;
    p.m = rows;
    p.n = target.shape()[1];
    p.c = {target.data<char>(), dtype_, p.n, 1};
    p.bias = bias.raw_data();
    write_bias(context_, p);
  }

  void copy(int64_t row, int64_t rows, char* patches) const {
    const int64_t size = itemsize(dtype_), bytes = sizes_.group_in() * size;
    const int64_t image = row / sizes_.out_size;
    const char* const x = x_.data<char>() + image * sizes_.in_size * sizes_.in_channels * size;
    const auto first = static_cast<uint32_t>(row - image * sizes_.out_size);
    // The widest word that a group's channels are whole numbers of; the pool's memory is aligned for all.
    const int64_t alignment = int64_t{1} << alignment_of(x_.raw_data());
    int64_t word = 16;
    while (bytes % word != 0 || alignment % word != 0) word /= 2;
    switch (word) {
      case 16:
        return copy_words<uint4>(x, patches, first, rows);
      case 8:
        return copy_words<uint2>(x, patches, first, rows);
      case 4:
        return copy_words<uint32_t>(x, patches, first, rows);
      default:
        return copy_words<uint16_t>(x, patches, first, rows);
    }
  }
  template <class Word>
  void copy_words(const char* x, char* patches, uint32_t first, int64_t rows) const {
    const int64_t per_element = static_cast<int64_t>(sizeof(Word)), size = itemsize(dtype_);
    const int64_t channels = sizes_.in_channels * size / per_element, group_channels = channels / sizes_.groups;
    const int64_t width = group_channels * sizes_.kernel_size, columns = width * sizes_.groups;
    const int64_t lanes = std::min<int64_t>(columns, kThreads), subs = kThreads / lanes;
    const LaunchShape shape = {{blocks_for(rows, subs * kRowsOfThread), blocks_for(columns, lanes)}, {kThreads}};
    visit_axes(g_.ndim, [&]<int kAxes>() {
      enqueue(context_, shape, &copy_patches<Word, kAxes>, reinterpret_cast<const Word*>(x),
              reinterpret_cast<Word*>(patches), window_of<kAxes>(g_, x_, w_, y_), first, static_cast<uint32_t>(rows),
              Divisor(lanes), Divisor(width), Divisor(group_channels), static_cast<uint32_t>(channels),
              static_cast<uint32_t>(sizes_.groups));
    });
  }

  template <class T>
  void gather(int64_t image, int64_t images, const void* patches, const Array& bias) const {
    constexpr int kPack = kPackSize<Compute<T>>;
    T* const gx = x_.data<T>() + image * sizes_.in_size * sizes_.in_channels;
    const bool is_packed = sizes_.group_in() % kPack == 0 &&
                           (int64_t{1} << alignment_of(x_.raw_data())) >= static_cast<int64_t>(sizeof(T)) * kPack;
    visit_axes(g_.ndim, [&]<int kAxes>() {
      const auto launch = [&](auto kernel, int64_t pack) {
        const int64_t items = images * sizes_.in_size * sizes_.in_channels / pack;
        const LaunchShape shape = {{blocks_for(items, kThreads, context_.facts().multiprocessors * 32)}, {kThreads}};
        enqueue(context_, shape, kernel, static_cast<const Compute<T>*>(patches),
                bias.is_defined() ? bias.data<T>() : nullptr, gx, window_of<kAxes>(g_, x_, w_, y_), items,
                images * sizes_.out_size, static_cast<uint32_t>(sizes_.kernel_size), Divisor(sizes_.in_channels / pack),
                Divisor(sizes_.group_in() / pack));
      };
      if (is_packed) {
        launch(&gather_patches<T, kAxes, kPack>, kPack);
      } else {
        launch(&gather_patches<T, kAxes, 1>, 1);
      }
    });
  }

  Context& context_;
  const kernels::Convolution& g_;
  Sizes sizes_;
  const Array &x_, &w_, &y_;
  Dtype dtype_;
};

Array empty_packed(const Array& like, Dtype dtype) {
  return empty_strided(like.shape(), channels_last_strides(like.shape()), dtype, like.device());
}
// With the channels innermost whatever config.channels_last says.
Array packed(const Array& a, Dtype dtype) {
  if (a.dtype() == dtype && a.is_channels_last()) return a;
  const Array result = empty_packed(a, dtype);
  result.copy_from(a);
  return result;
}
Array packed_bias(const Array& bias, Dtype dtype) { return bias.is_defined() ? bias.astype(dtype).contiguous() : bias; }

// The result where kernels can write it, and back.
class Target {
 public:
  Target(const Array& array, Dtype dtype)
      : array_{array}, work_{array.dtype() == dtype && array.is_channels_last() ? array : empty_packed(array, dtype)} {}
  const Array& work() const { return work_; }
  void finish() const {
    if (!work_.is_same(array_)) array_.copy_from(work_);
  }

 private:
  const Array& array_;
  Array work_;
};

// Half images are multiplied as they are, which is exact, if the weights are of the same type.
Dtype operand_dtype(const Array& image, const Array& other) {
  return is_half(image.dtype()) && other.dtype() != image.dtype() ? Dtype::float32 : image.dtype();
}

// Sums of nothing; true if that is what the result is.
bool is_trivial(const Array& a, const Array& b, const Array& bias, const Array& result) {
  if (result.size() == 0) return true;
  if (a.size() != 0 && b.size() != 0) return false;
  result.fill(0.0);
  if (bias.is_defined()) {
    Shape shape = Shape::filled(result.ndim(), 1);
    shape[1] = bias.size();
    result.copy_from(bias.contiguous().reshape(shape));
  }
  return true;
}

}  // namespace

void im2col_forward(const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& bias,
                    const Array& y) {
  if (is_trivial(x, W, bias, y)) return;
  const Dtype dtype = operand_dtype(x, W);
  const Array px = packed(x, dtype), pw = packed(W, dtype), pb = packed_bias(bias, dtype);
  const Target target(y, dtype);
  if (depthwise_supported(geometry, px, pw, target.work())) {
    depthwise_forward(geometry, px, pw, pb, target.work());
  } else {
    Im2col(geometry, px, pw, target.work()).forward(pb);
  }
  target.finish();
}

void im2col_data_grad(const kernels::Convolution& geometry, const Array& gy, const Array& W, const Array& bias,
                      const Array& gx) {
  if (is_trivial(gy, W, bias, gx)) return;
  const Dtype dtype = operand_dtype(gy, W);
  const Array py = packed(gy, dtype), pw = packed(W, dtype), pb = packed_bias(bias, dtype);
  const Target target(gx, dtype);
  if (depthwise_supported(geometry, target.work(), pw, py)) {
    depthwise_data_grad(geometry, py, pw, pb, target.work());
  } else {
    Im2col(geometry, target.work(), pw, py).data_grad(pb);
  }
  target.finish();
}

void im2col_filter_grad(const kernels::Convolution& geometry, const Array& x, const Array& gy, const Array& gW) {
  if (is_trivial(x, gy, Array(), gW)) return;
  const Dtype dtype = x.dtype(), wide = dtype == Dtype::float64 ? dtype : Dtype::float32;
  const Array px = packed(x, dtype), py = packed(gy, dtype);
  if (gW.dtype() == dtype && gW.is_channels_last() && depthwise_supported(geometry, px, gW, py)) {
    return depthwise_filter_grad(geometry, px, py, gW);
  }
  // Several products of half images are added up in float32.
  const bool is_rounded_once = gW.dtype() == dtype && !Im2col(geometry, px, gW, py).has_several_chunks();
  const Target target(gW, is_rounded_once ? dtype : wide);
  Im2col(geometry, px, target.work(), py).filter_grad();
  target.finish();
}

}  // namespace kusari::cuda
