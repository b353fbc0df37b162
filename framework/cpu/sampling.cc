#include "kusari/framework/kernels/sampling.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/sampling.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/image_axes.h"

namespace kusari::cpu {
namespace {

constexpr int kCorners = 4;

template <class T>
const SamplingLoop& loops() {
  static const SamplingLoops& table = *KUSARI_LOOPS(isa(), sampling_loops);
  if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else {
    return table.f32;
  }
}

/// Images (N, C, H, W) as elements of T in the order N, H, W, C without gaps.
template <class T>
Array pixels(const Array& x) {
  return x.astype(dtype_of<T>).transpose(kToChannelsLast).contiguous();
}

/// What a kernel writes, in that order: the result itself or, where its layout or dtype differ, a stand-in.
template <class T>
class Target {
 public:
  explicit Target(const Array& y) : y_{y}, pixels_{y.transpose(kToChannelsLast)} {
    direct_ = pixels_.is_contiguous() && y.dtype() == dtype_of<T>;
    if (!direct_) pixels_ = empty(pixels_.shape(), dtype_of<T>);
  }
  T* data() const { return pixels_.template data<T>(); }
  const Array& pixels() const { return pixels_; }
  void finish() const {
    if (!direct_) y_.copy_from(pixels_.transpose(kFromChannelsLast));
  }

 private:
  const Array& y_;
  Array pixels_;
  bool direct_;
};

template <class Body>
void with_type(Dtype dtype, const Body& body) {
  if (dtype == Dtype::float64) {
    body.template operator()<double>();
  } else {
    body.template operator()<float>();
  }
}

int64_t chunk_of(int64_t elements_each) {
  return std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(elements_each, 1));
}

// --- resizing ---

/// Along one axis: new element i lies between elements left[i] <= right[i] of the given ones, by weight[i] towards the
/// right one. left never decreases.
template <class T>
struct AxisPlan {
  Array left, right, weight;

  AxisPlan(const kernels::Resize& resize, int64_t size, int64_t new_size)
      : left{empty({new_size}, Dtype::int64)},
        right{empty({new_size}, Dtype::int64)},
        weight{empty({new_size}, dtype_of<T>)} {
    for (int64_t i = 0; i < new_size; ++i) {
      const int64_t nearest = i * size / new_size;
      const double at = resize.nearest ? static_cast<double>(nearest) : place(resize, i, size, new_size);
      const int64_t first = std::min(static_cast<int64_t>(at), size - 1);
      left.data<int64_t>()[i] = first;
      right.data<int64_t>()[i] = std::min(first + 1, size - 1);
      weight.data<T>()[i] = static_cast<T>(at - std::floor(at));
    }
  }

 private:
  static double place(const kernels::Resize& resize, int64_t i, int64_t size, int64_t new_size) {
    const double scale = static_cast<double>(size) / static_cast<double>(new_size);
    if (!resize.align_corners) return std::max((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0);
    if (new_size == 1) return 0;
    return static_cast<double>(i) * static_cast<double>(size - 1) / static_cast<double>(new_size - 1);
  }
};

template <class T>
void resize(const kernels::Resize& options, const Array& x, const Array& y) {
  const Shape &from = x.shape(), &to = y.shape();
  const int64_t c = to[1], row = from[3] * c, new_row = to[3] * c;
  const AxisPlan<T> rows(options, from[2], to[2]), columns(options, from[3], to[3]);
  const Array given = pixels<T>(x);
  const Target<T> target(y);
  parallel_for(to[0] * to[2], chunk_of(row + new_row), [&](int64_t begin, int64_t end) {
    const Array between = empty({row}, dtype_of<T>);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t new_y = i % to[2];
      const T* const image = given.data<T>() + i / to[2] * from[2] * row;
      const T* source = image + rows.left.template data<int64_t>()[new_y] * row;
      const T weight = rows.weight.template data<T>()[new_y];
      if (weight != T(0)) {
        const T* const next = image + rows.right.template data<int64_t>()[new_y] * row;
        loops<T>().blend(source, next, static_cast<double>(weight), between.data<T>(), row);
        source = between.data<T>();
      }
      loops<T>().resize_row(source, columns.left.template data<int64_t>(), columns.right.template data<int64_t>(),
                            columns.weight.raw_data(), target.data() + i * new_row, to[3], c);
    }
  });
  target.finish();
}

template <class T>
void resize_grad(const kernels::Resize& options, const Array& gy, const Array& gx) {
  const Shape &from = gy.shape(), &to = gx.shape();
  const int64_t c = to[1], row = to[3] * c, new_row = from[3] * c;
  const AxisPlan<T> rows(options, to[2], from[2]), columns(options, to[3], from[3]);
  const int64_t *left = rows.left.template data<int64_t>(), *right = rows.right.template data<int64_t>();
  const Array given = pixels<T>(gy);
  const Target<T> target(gx);
  // Each row of gx gathers from the rows of gy, so that threads do not meet and every sum has one order.
  parallel_for(to[0] * to[2], chunk_of(row + new_row), [&](int64_t begin, int64_t end) {
    const Array gathered = empty({new_row}, dtype_of<T>);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % to[2];
      const T* const image = given.data<T>() + i / to[2] * from[2] * new_row;
      T* const result = target.data() + i * row;
      std::fill_n(result, row, T(0));
      std::fill_n(gathered.data<T>(), new_row, T(0));
      for (int64_t j = std::lower_bound(left, left + from[2], y - 1) - left; j < from[2] && left[j] <= y; ++j) {
        const double weight = static_cast<double>(rows.weight.template data<T>()[j]);
        const double share = (left[j] == y ? 1 - weight : 0) + (right[j] == y ? weight : 0);
        if (share != 0) loops<T>().add_scaled(image + j * new_row, share, gathered.data<T>(), new_row);
      }
      loops<T>().resize_row_grad(gathered.raw_data(), columns.left.template data<int64_t>(),
                                 columns.right.template data<int64_t>(), columns.weight.raw_data(), result, from[3], c);
    }
  });
  target.finish();
}

void resize_images(Params<kernels::Resize> options, In x, Out y) {
  if (y->size() == 0) return;
  with_type(y->dtype(), [&]<class T>() { resize<T>(*options, x, y); });
}

void resize_images_grad(Params<kernels::Resize> options, In gy, Out gx) {
  if (gx->size() == 0) return;
  if (gy->size() == 0) return gx->fill(0);
  with_type(gx->dtype(), [&]<class T>() { resize_grad<T>(*options, gy, gx); });
}

// --- sampling at points ----------------------------------------------------------------------------------------------

/// A coordinate between two neighbours, the first of which may be -1, one before the image.
template <class T>
struct Between {
  int64_t first;
  T weight;     // of the second; a NaN stays one
  bool inside;  // the result depends on the coordinate

  Between(T at, int64_t size) {
    const T end = static_cast<T>(size), limited = at < T(-1) ? T(-1) : (at > end ? end : at);
    first = limited >= T(-1) ? std::min(static_cast<int64_t>(std::floor(limited)), size - 1) : -1;
    weight = limited - static_cast<T>(first);
    inside = at > T(-1) && at < end;
  }
};

/// The images of a call and its points.
template <class T>
struct Samples {
  int64_t n, c, h, w, count;  // count: points of an image
  Array points;

  Samples(const Array& x, const Array& given)
      : n{x.shape()[0]}, c{x.shape()[1]}, h{x.shape()[2]}, w{x.shape()[3]}, count{given.shape()[2] * given.shape()[3]} {
    points = given.astype(dtype_of<T>).contiguous();
  }
  Between<T> column(int64_t image, int64_t i) const { return Between<T>(points.data<T>()[2 * image * count + i], w); }
  Between<T> row(int64_t image, int64_t i) const {
    return Between<T>(points.data<T>()[(2 * image + 1) * count + i], h);
  }
};

/// The four pixels around a point, `none` standing for those outside of the image, and their shares.
template <class T>
struct Corners {
  T* pixel[kCorners];
  T share[kCorners];

  Corners(const Samples<T>& s, T* image, const Between<T>& column, const Between<T>& row, T* none) {
    for (int k = 0; k < kCorners; ++k) {
      const int64_t u = column.first + k % 2, v = row.first + k / 2;
      const bool exists = u >= 0 && u < s.w && v >= 0 && v < s.h;
      pixel[k] = exists ? image + (v * s.w + u) * s.c : none;
      share[k] = (k % 2 == 0 ? 1 - column.weight : column.weight) * (k / 2 == 0 ? 1 - row.weight : row.weight);
    }
  }
  const void* const* addresses() const { return reinterpret_cast<const void* const*>(pixel); }
};

template <class T>
void sample(const Array& x, const Array& points, const Array& y) {
  const Samples<T> s(x, points);
  const Array given = pixels<T>(x), none = zeros({s.c}, dtype_of<T>);
  const Target<T> target(y);
  parallel_for(s.n * s.count, chunk_of(4 * s.c), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / s.count, point = i % s.count;
      const Corners<T> corners(s, given.data<T>() + image * s.h * s.w * s.c, s.column(image, point),
                               s.row(image, point), none.data<T>());
      loops<T>().mix(corners.addresses(), corners.share, target.data() + i * s.c, s.c);
    }
  });
  target.finish();
}

template <class T>
void sample_grad_points(const Samples<T>& s, const Array& x, const Array& gy, const Array& gpoints) {
  const Array given = pixels<T>(x), none = zeros({s.c}, dtype_of<T>), result = empty(s.points.shape(), dtype_of<T>);
  parallel_for(s.n * s.count, chunk_of(8 * s.c), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / s.count, point = i % s.count;
      const Between<T> u = s.column(image, point), v = s.row(image, point);
      const Corners<T> corners(s, given.data<T>() + image * s.h * s.w * s.c, u, v, none.data<T>());
      T d[kCorners];
      loops<T>().dots(corners.addresses(), gy.data<T>() + i * s.c, d, s.c);
      T* const to = result.data<T>() + 2 * image * s.count + point;
      to[0] = u.inside ? (1 - v.weight) * (d[1] - d[0]) + v.weight * (d[3] - d[2]) : T(0);
      to[s.count] = v.inside ? (1 - u.weight) * (d[2] - d[0]) + u.weight * (d[3] - d[1]) : T(0);
    }
  });
  gpoints.copy_from(result);
}

template <class T>
void sample_grad_image(const Samples<T>& s, const Array& gy, const Array& gx) {
  constexpr int64_t kChannels = 64;
  const int64_t blocks = (s.c + kChannels - 1) / kChannels;
  const Target<T> target(gx);
  target.pixels().fill(0);
  // Points meet in pixels, so threads share images and channels: every sum has the points' order.
  parallel_for(s.n * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, first = i % blocks * kChannels, size = std::min(kChannels, s.c - first);
      for (int64_t point = 0; point < s.count; ++point) {
        const Corners<T> corners(s, target.data() + image * s.h * s.w * s.c, s.column(image, point),
                                 s.row(image, point), nullptr);
        const T* const g = gy.data<T>() + (image * s.count + point) * s.c + first;
        for (int k = 0; k < kCorners; ++k) {
          if (corners.pixel[k] == nullptr) continue;
          loops<T>().add_scaled(g, static_cast<double>(corners.share[k]), corners.pixel[k] + first, size);
        }
      }
    }
  });
  target.finish();
}

void sample_bilinear(In x, In points, Out y) {
  if (y->size() == 0) return;
  with_type(x->dtype(), [&]<class T>() { sample<T>(x, points, y); });
}

void sample_bilinear_grad(In x, In points, In gy, Out gx, Out gpoints) {
  if (gy->size() == 0 || x->size() == 0) {
    if (gx) gx->fill(0);
    if (gpoints) gpoints->fill(0);
    return;
  }
  with_type(x->dtype(), [&]<class T>() {
    const Samples<T> samples(x, points);
    const Array g = pixels<T>(gy);
    if (gx) sample_grad_image<T>(samples, g, gx);
    if (gpoints) sample_grad_points<T>(samples, x, g, gpoints);
  });
}

}  // namespace

void register_sampling(Backend& backend) {
  backend.add<kernels::ResizeImages>(resize_images);
  backend.add<kernels::ResizeImagesGrad>(resize_images_grad);
  backend.add<kernels::SampleBilinear>(sample_bilinear);
  backend.add<kernels::SampleBilinearGrad>(sample_bilinear_grad);
}

}  // namespace kusari::cpu
