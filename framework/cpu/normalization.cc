#include "kusari/framework/kernels/normalization.h"

#include <algorithm>
#include <cmath>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/normalization.h"
#include "kusari/framework/cpu/ordered_elements.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

/// Elements of rows that one thread takes at a time: their sums are in float64, several passes over each row.
constexpr int64_t kRowChunk = kThreadChunk / 4;

template <class T>
const PixelNormalizationLoop& loops_of() {
  static const PixelNormalizationLoops& loops = *KUSARI_LOOPS(isa(), pixel_normalization_loops);
  return dtype_of<T> == Dtype::float64 ? loops.f64 : loops.f32;
}

/// The order (N, spatial..., C).
Dims channels_behind(const Array& x) { return behind(x.ndim(), AxisMask::of(1)); }

/// Sizes, and how the pixels of one example fall into chunks.
struct Geometry {
  int64_t examples, pixels, channels, groups, group_size;
  int64_t chunk;   // pixels
  int64_t chunks;  // per example

  Geometry(const Array& x, int64_t group_count)
      : examples{x.shape()[0]},
        pixels{1},
        channels{x.shape()[1]},
        groups{group_count},
        group_size{channels / group_count} {
    for (int axis = 2; axis < x.ndim(); ++axis) pixels *= x.shape()[axis];
    chunk = std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(channels, 1));
    chunks = (pixels + chunk - 1) / chunk;
  }
  int64_t pixels_in(int64_t index) const { return std::min(chunk, pixels - index * chunk); }
  int64_t offset_of(int64_t example, int64_t index) const { return (example * pixels + index * chunk) * channels; }

  /// Calls prepare(pass, example, chunk) for all chunks of an example, then combine(pass, example), for each pass; at
  /// last finish(example, chunk). Small examples go through all of it while they are in the cache.
  template <class Prepare, class Combine, class Finish>
  void run(int passes, const Prepare& prepare, const Combine& combine, const Finish& finish) const {
    if (chunks == 1) {
      const int64_t at_once = std::max<int64_t>(1, kThreadChunk / (pixels * channels));
      parallel_for(examples, at_once, [&](int64_t begin, int64_t end) {
        for (int64_t example = begin; example < end; ++example) {
          for (int pass = 0; pass < passes; ++pass) {
            prepare(pass, example, 0);
            combine(pass, example);
          }
          finish(example, 0);
        }
      });
      return;
    }
    const auto for_each_chunk = [&](const auto& body) {
      parallel_for(examples * chunks, 1, [&](int64_t i, int64_t) { body(i / chunks, i % chunks); });
    };
    for (int pass = 0; pass < passes; ++pass) {
      for_each_chunk([&](int64_t example, int64_t index) { prepare(pass, example, index); });
      parallel_for(examples, 1, [&](int64_t example, int64_t) { combine(pass, example); });
    }
    for_each_chunk(finish);
  }
};

/// Two sums for each channel, for every chunk of every example.
class ChannelSums {
 public:
  ChannelSums(int64_t parts, int64_t parts_per_whole, int64_t channels)
      : channels_{channels}, per_whole_{parts_per_whole}, sums_{empty({parts, 2, channels}, Dtype::float64)} {}
  double* first(int64_t part) const { return sums_.data<double>() + part * 2 * channels_; }
  double* second(int64_t part) const { return first(part) + channels_; }
  void clear(int64_t part) const { std::fill_n(first(part), 2 * channels_, 0.0); }
  /// The sums over the parts of one whole, left in its first part.
  void combine(int64_t whole) const {
    double* const total = first(whole * per_whole_);
    for (int64_t part = 1; part < per_whole_; ++part) {
      const double* const from = first(whole * per_whole_ + part);
      for (int64_t j = 0; j < 2 * channels_; ++j) total[j] += from[j];
    }
  }

 private:
  int64_t channels_, per_whole_;
  Array sums_;
};

/// A group's statistics while they are computed.
struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(double center, double sum, double squares, int64_t n) {
  const double count = static_cast<double>(n), shift = sum / count;
  return {center + shift, std::max(0.0, squares / count - shift * shift)};
}

/// float64 takes its sums a second time around the mean: its own rounding must not show.
template <class T>
constexpr int kPasses = dtype_of<T> == Dtype::float64 ? 2 : 1;

/// What is lost when `value` becomes a T.
template <class T>
double rounding(double value) {
  return value - static_cast<double>(static_cast<T>(value));
}

template <class T>
struct Forward {
  const Geometry& g;
  double eps;
  const OrderedInput<T>& x;
  const T *gamma, *beta;
  const OrderedResult<T>& y;
  double *mean, *inv_std;  // without mean (and beta): 0, of rows

  double inverse(double variance) const { return 1 / std::sqrt(variance + eps); }

  Moments row_statistics(const T* row, int64_t n) const {
    const PixelNormalizationLoop& loops = loops_of<T>();
    double sum, squares;
    if (mean == nullptr) {
      loops.row_moments(row, 0, n, &sum, &squares);
      return {0, squares / static_cast<double>(n)};
    }
    Moments moments{static_cast<double>(row[0]), 0};
    for (int pass = 0; pass < kPasses<T>; ++pass) {
      loops.row_moments(row, moments.mean, n, &sum, &squares);
      moments = moments_of(moments.mean, sum, squares, n);
    }
    return moments;
  }

  // One pixel: each group is a row.
  void run_rows() const {
    const PixelNormalizationLoop& loops = loops_of<T>();
    const int64_t n = g.group_size;
    parallel_for(g.examples * g.groups, std::max<int64_t>(1, kRowChunk / n), [&](int64_t begin, int64_t end) {
      const Scratch<T> wide(x.is_direct() ? 0 : n), result(y.is_direct() ? 0 : n);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t channel = row % g.groups * n;
        const T* const from = x.read(row * n, n, wide.get());
        const Moments moments = row_statistics(from, n);
        inv_std[row] = inverse(moments.variance);
        T* const to = y.place(row * n, result.get());
        if (mean == nullptr) {
          loops.row_scale_each(from, inv_std[row], gamma + channel, to, n);
        } else {
          mean[row] = moments.mean;
          loops.row_normalize(from, mean[row], inv_std[row], gamma + channel, beta + channel, to, n);
        }
        y.write(row * n, n, to);
      }
    });
  }

  void run_columns() const {
    const PixelNormalizationLoop& loops = loops_of<T>();
    const int64_t channels = g.channels;
    const ChannelSums sums(g.examples * g.chunks, g.chunks, channels);
    const Array table = empty({3, g.examples, channels}, dtype_of<T>);
    T* const center = table.data<T>();
    T *const factor = center + g.examples * channels, *const shift = factor + g.examples * channels;
    // The first sums are taken around the first pixel, which is nearer to the mean than zero is.
    for (int64_t example = 0; !x.is_direct() && example < g.examples; ++example) {
      x.read(g.offset_of(example, 0), channels, center + example * channels);
    }
    const auto center_in = [&](int pass, int64_t example) -> const T* {
      return pass == 0 && x.is_direct() ? x.read(g.offset_of(example, 0), channels, nullptr)
                                        : center + example * channels;
    };
    g.run(
        kPasses<T>,
        [&](int pass, int64_t example, int64_t index) {
          const int64_t part = example * g.chunks + index;
          const int64_t pixels = g.pixels_in(index), size = pixels * channels;
          const Scratch<T> wide(x.is_direct() ? 0 : size);
          sums.clear(part);
          loops.column_moments(x.read(g.offset_of(example, index), size, wide.get()), center_in(pass, example), pixels,
                               channels, sums.first(part), sums.second(part));
        },
        [&](int pass, int64_t example) {
          sums.combine(example);
          const int64_t part = example * g.chunks;
          for (int64_t group = 0; group < g.groups; ++group) {
            set_group(example, group, center_in(pass, example), sums.first(part), sums.second(part),
                      center + example * channels, factor + example * channels, shift + example * channels);
          }
        },
        [&](int64_t example, int64_t index) {
          const int64_t at = g.offset_of(example, index), pixels = g.pixels_in(index), size = pixels * channels;
          const Scratch<T> wide(x.is_direct() ? 0 : size), result(y.is_direct() ? 0 : size);
          T* const to = y.place(at, result.get());
          loops.column_normalize(x.read(at, size, wide.get()), center + example * channels, factor + example * channels,
                                 shift + example * channels, to, pixels, channels);
          y.write(at, size, to);
        });
  }

  /// The statistics of a group from those of its channels.
  void set_group(int64_t example, int64_t group, const T* around, const double* sum, const double* squares, T* center,
                 T* factor, T* shift) const {
    const int64_t begin = group * g.group_size, end = begin + g.group_size;
    double total = 0, inside = 0, between = 0;
    for (int64_t c = begin; c < end; ++c) {
      const Moments channel = moments_of(static_cast<double>(around[c]), sum[c], squares[c], g.pixels);
      total += channel.mean;
      inside += channel.variance;
    }
    const double size = static_cast<double>(g.group_size), group_mean = total / size;
    for (int64_t c = begin; c < end; ++c) {
      const double d = moments_of(static_cast<double>(around[c]), sum[c], squares[c], g.pixels).mean - group_mean;
      between += d * d;
    }
    const double inv = inverse((inside + between) / size);
    mean[example * g.groups + group] = group_mean;
    inv_std[example * g.groups + group] = inv;
    for (int64_t c = begin; c < end; ++c) {
      const double scale = static_cast<double>(gamma[c]) * inv;
      center[c] = static_cast<T>(group_mean);
      factor[c] = static_cast<T>(scale);
      // What the mean loses as a T would show beside a small deviation.
      shift[c] = static_cast<T>(static_cast<double>(beta[c]) - rounding<T>(group_mean) * scale);
    }
  }
};

template <class T>
struct Backward {
  const Geometry& g;
  const OrderedInput<T>& x;
  const T* gamma;
  const OrderedInput<T>& gy;
  const double *mean, *inv_std;  // without mean: 0, of rows
  const OrderedResult<T>& gx;    // undefined where it is not wanted
  T *ggamma, *gbeta;

  void run_rows() const {
    const PixelNormalizationLoop& loops = loops_of<T>();
    const int64_t n = g.group_size;
    const int64_t at_once = std::max<int64_t>(32, kRowChunk / g.channels);
    const int64_t parts = (g.examples + at_once - 1) / at_once;
    const ChannelSums sums(parts, parts, g.channels);
    parallel_for(g.examples, at_once, [&](int64_t begin, int64_t end) {
      const int64_t part = begin / at_once;
      sums.clear(part);
      const Scratch<T> wide(x.is_direct() ? 0 : n), gradients(gy.is_direct() ? 0 : n), result(gx.is_direct() ? 0 : n);
      for (int64_t row = begin * g.groups; row < end * g.groups; ++row) {
        const int64_t channel = row % g.groups * n, at = row * n;
        const double m = mean != nullptr ? mean[row] : 0, inv = inv_std[row];
        const T *const from = x.read(at, n, wide.get()), *const gradient = gy.read(at, n, gradients.get());
        if (gx.is_defined()) {
          double sum, products;
          loops.row_products(from, m, gradient, gamma + channel, n, &sum, &products);
          const double size = static_cast<double>(n);
          T* const to = gx.place(at, result.get());
          const double constant = mean != nullptr ? inv * sum / size : 0;
          loops.row_grad(from, gradient, gamma + channel, m, inv, inv * inv * products / size, constant, to, n);
          gx.write(at, n, to);
        }
        loops.row_parameter_grad(from, gradient, m, inv, n, sums.second(part) + channel, sums.first(part) + channel);
      }
    });
    sums.combine(0);
    for (int64_t c = 0; c < g.channels; ++c) {
      if (gbeta != nullptr) gbeta[c] = static_cast<T>(sums.first(0)[c]);
      if (ggamma != nullptr) ggamma[c] = static_cast<T>(sums.second(0)[c]);
    }
  }

  void run_columns() const {
    const PixelNormalizationLoop& loops = loops_of<T>();
    const int64_t channels = g.channels;
    const ChannelSums sums(g.examples * g.chunks, g.chunks, channels);
    const Array table = empty({g.examples, 4, channels}, dtype_of<T>);  // mean and the three factors of column_grad
    const auto entry = [&](int64_t example, int64_t which) {
      return table.data<T>() + (example * 4 + which) * channels;
    };
    parallel_for(g.examples, std::max<int64_t>(1, kThreadChunk / channels), [&](int64_t begin, int64_t end) {
      for (int64_t example = begin; example < end; ++example) {
        for (int64_t c = 0; c < channels; ++c) {
          entry(example, 0)[c] = static_cast<T>(mean[example * g.groups + c / g.group_size]);
        }
      }
    });
    g.run(
        1,
        [&](int, int64_t example, int64_t index) {
          const int64_t part = example * g.chunks + index, at = g.offset_of(example, index);
          const int64_t pixels = g.pixels_in(index), size = pixels * channels;
          const Scratch<T> wide(x.is_direct() ? 0 : size), gradients(gy.is_direct() ? 0 : size);
          sums.clear(part);
          loops.column_products(x.read(at, size, wide.get()), entry(example, 0), gy.read(at, size, gradients.get()),
                                pixels, channels, sums.first(part), sums.second(part));
        },
        [&](int, int64_t example) {
          sums.combine(example);
          const int64_t part = example * g.chunks;
          for (int64_t group = 0; group < g.groups; ++group) {
            set_group(example, group, sums.first(part), sums.second(part), entry(example, 1), entry(example, 2),
                      entry(example, 3));
          }
        },
        [&](int64_t example, int64_t index) {
          if (!gx.is_defined()) return;
          const int64_t at = g.offset_of(example, index), pixels = g.pixels_in(index), size = pixels * channels;
          const Scratch<T> wide(x.is_direct() ? 0 : size), gradients(gy.is_direct() ? 0 : size),
              result(gx.is_direct() ? 0 : size);
          T* const to = gx.place(at, result.get());
          loops.column_grad(x.read(at, size, wide.get()), gy.read(at, size, gradients.get()), entry(example, 0),
                            entry(example, 1), entry(example, 2), entry(example, 3), to, pixels, channels);
          gx.write(at, size, to);
        });
    const int64_t at_once = std::max<int64_t>(16, kThreadChunk / g.examples);
    parallel_for(channels, at_once, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        double sum = 0, products = 0;
        for (int64_t example = 0; example < g.examples; ++example) {
          const int64_t part = example * g.chunks;
          sum += sums.first(part)[c];
          products += sums.second(part)[c] * inv_std[example * g.groups + c / g.group_size];
        }
        if (gbeta != nullptr) gbeta[c] = static_cast<T>(sum);
        if (ggamma != nullptr) ggamma[c] = static_cast<T>(products);
      }
    });
  }

  void set_group(int64_t example, int64_t group, const double* sum, double* products, T* a, T* b, T* d) const {
    const int64_t begin = group * g.group_size, end = begin + g.group_size;
    const double inv = inv_std[example * g.groups + group], lost = rounding<T>(mean[example * g.groups + group]);
    const double size = static_cast<double>(g.group_size * g.pixels);
    double gradient = 0, product = 0;
    for (int64_t c = begin; c < end; ++c) {
      products[c] -= lost * sum[c];
      gradient += static_cast<double>(gamma[c]) * sum[c];
      product += static_cast<double>(gamma[c]) * products[c];
    }
    const double slope = inv * inv * inv * product / size;
    for (int64_t c = begin; c < end; ++c) {
      a[c] = static_cast<T>(static_cast<double>(gamma[c]) * inv);
      b[c] = static_cast<T>(slope);
      d[c] = static_cast<T>(inv * gradient / size - lost * slope);
    }
  }
};

template <class T>
Array vector_of(const Array& x) {
  return x.is_defined() ? x.astype(dtype_of<T>).contiguous() : x;
}

/// The elements of an array that may be undefined.
template <class T>
T* data_of(const Array& x) {
  return x.is_defined() ? x.data<T>() : nullptr;
}

template <class T>
void normalize_groups(const kernels::GroupNormalizationOptions& options, const Array& x, const Array& gamma,
                      const Array& beta, const Array& y, const Array& mean, const Array& inv_std) {
  const Geometry geometry(x, options.groups);
  const Dims order = channels_behind(x);
  const Array g = vector_of<T>(gamma), b = vector_of<T>(beta);
  const OrderedInput<T> pixels(x, order);
  const OrderedResult<T> result(y, order);
  const Forward<T> forward{
      geometry, options.eps, pixels, g.data<T>(), data_of<T>(b), result, data_of<double>(mean), inv_std.data<double>()};
  geometry.pixels == 1 ? forward.run_rows() : forward.run_columns();
  result.finish();
}

template <class T>
void normalize_groups_grad(const kernels::GroupNormalizationOptions& options, const Array& x, const Array& gamma,
                           const Array& mean, const Array& inv_std, const Array& gy, const Array& gx,
                           const Array& ggamma, const Array& gbeta) {
  const Geometry geometry(x, options.groups);
  const Dims order = channels_behind(x);
  const Array g = vector_of<T>(gamma);
  const OrderedInput<T> pixels(x, order), gradients(gy, order);
  const OrderedResult<T> result(gx, order);
  const Backward<T> backward{geometry,
                             pixels,
                             g.data<T>(),
                             gradients,
                             data_of<double>(mean),
                             inv_std.data<double>(),
                             result,
                             data_of<T>(ggamma),
                             data_of<T>(gbeta)};
  geometry.pixels == 1 ? backward.run_rows() : backward.run_columns();
  result.finish();
}

bool is_wide(const Array& x, const Array& gamma) {
  return x.dtype() == Dtype::float64 || gamma.dtype() == Dtype::float64;
}

void normalize(const kernels::GroupNormalizationOptions& options, const Array& x, const Array& gamma, const Array& beta,
               const Array& y, const Array& mean, const Array& inv_std) {
  if (x.size() == 0) {
    if (mean.is_defined()) mean.fill(0);
    inv_std.fill(0);
    return;
  }
  const auto run = is_wide(x, gamma) ? &normalize_groups<double> : &normalize_groups<float>;
  run(options, x, gamma, beta, y, mean, inv_std);
}

void normalize_grad(const kernels::GroupNormalizationOptions& options, const Array& x, const Array& gamma,
                    const Array& mean, const Array& inv_std, const Array& gy, const Array& gx, const Array& ggamma,
                    const Array& gbeta) {
  if (x.size() == 0) {
    if (ggamma.is_defined()) ggamma.fill(0);
    if (gbeta.is_defined()) gbeta.fill(0);
    return;
  }
  const auto run = is_wide(x, gamma) ? &normalize_groups_grad<double> : &normalize_groups_grad<float>;
  run(options, x, gamma, mean, inv_std, gy, gx, ggamma, gbeta);
}

void group_normalization(Params<kernels::GroupNormalizationOptions> options, In x, In gamma, In beta, Out y, Out mean,
                         Out inv_std) {
  normalize(*options, x, gamma, beta, y, mean, inv_std);
}

void group_normalization_grad(Params<kernels::GroupNormalizationOptions> options, In x, In gamma, In mean, In inv_std,
                              In gy, Out gx, Out ggamma, Out gbeta) {
  normalize_grad(*options, x, gamma, mean, inv_std, gy, gx, ggamma, gbeta);
}

void rms_normalization(Params<double> eps, In x, In gamma, Out y, Out inv_rms) {
  normalize({1, *eps}, x, gamma, Array(), y, Array(), inv_rms);
}

void rms_normalization_grad(In x, In gamma, In inv_rms, In gy, Out gx, Out ggamma) {
  normalize_grad({}, x, gamma, Array(), inv_rms, gy, gx, ggamma, Array());
}

/// x / (|x| + eps), or, with gy, the gradients.
template <class T>
void normalize_vectors(const kernels::L2NormalizationOptions& options, const Array& x, const Array& gy,
                       const Array& y) {
  const PixelNormalizationLoop& loops = loops_of<T>();
  int64_t n = 1;
  for (int axis = 0; axis < x.ndim(); ++axis) n *= options.axes.contains(axis) ? x.shape()[axis] : 1;
  const Dims order = behind(x.ndim(), options.axes);
  const OrderedInput<T> vectors(x, order), gradients = gy.is_defined() ? OrderedInput<T>(gy, order) : OrderedInput<T>();
  const OrderedResult<T> result(y, order);
  parallel_for(x.size() / n, std::max<int64_t>(1, kThreadChunk / n), [&](int64_t begin, int64_t end) {
    const Scratch<T> wide(vectors.is_direct() ? 0 : n), wide_gradient(gradients.is_direct() ? 0 : n),
        computed(result.is_direct() ? 0 : n);
    for (int64_t row = begin; row < end; ++row) {
      const T* const from = vectors.read(row * n, n, wide.get());
      T* const to = result.place(row * n, computed.get());
      double squares, other;
      if (gradients.is_defined()) {
        const T* const gradient = gradients.read(row * n, n, wide_gradient.get());
        loops.row_dots(from, gradient, n, &squares, &other);
        const double norm = std::sqrt(squares), factor = 1 / (norm + options.eps);
        const double along = norm == 0 ? 0 : other / norm * factor;
        loops.row_difference(gradient, factor, from, along, to, n);
      } else {
        loops.row_moments(from, 0, n, &other, &squares);
        loops.row_scale(from, 1 / (std::sqrt(squares) + options.eps), to, n);
      }
      result.write(row * n, n, to);
    }
  });
  result.finish();
}

void l2_normalization(Params<kernels::L2NormalizationOptions> options, In x, Out y) {
  if (x->size() == 0) return;
  (x->dtype() == Dtype::float64 ? &normalize_vectors<double> : &normalize_vectors<float>)(*options, x, Array(), y);
}

void l2_normalization_grad(Params<kernels::L2NormalizationOptions> options, In x, In gy, Out gx) {
  if (x->size() == 0) return;
  (x->dtype() == Dtype::float64 ? &normalize_vectors<double> : &normalize_vectors<float>)(*options, x, gy, gx);
}

/// Elements that the steps of a block of rows keep: within the fastest cache.
constexpr int64_t kResponseBlock = 4096;

/// The responses, or, with gy, the gradients.
template <class T>
void responses(const kernels::LocalResponseNormalizationOptions& options, const Array& x, const Array& gy,
               const Array& y) {
  const PixelNormalizationLoop& loops = loops_of<T>();
  const int64_t n = x.shape()[1];
  const Dims order = channels_behind(x);
  // Beyond the channels there is nothing to sum.
  const int64_t reach = std::min(options.reach, n), row = 3 * n + 2 * reach;
  const ResponseOptions o{reach, options.k, options.alpha, options.beta, std::max<int64_t>(1, kResponseBlock / row)};
  const OrderedInput<T> pixels(x, order), gradients = gy.is_defined() ? OrderedInput<T>(gy, order) : OrderedInput<T>();
  const OrderedResult<T> result(y, order);
  parallel_for(x.size() / n, std::max<int64_t>(1, kThreadChunk / 4 / n), [&](int64_t begin, int64_t end) {
    const bool is_direct = pixels.is_direct() && gradients.is_direct() && result.is_direct();
    const int64_t step = is_direct ? end - begin : 4 * o.block, size = step * n;
    const Scratch<T> workspace(o.block * row), wide(pixels.is_direct() ? 0 : size),
        wide_gradients(gradients.is_direct() ? 0 : size), computed(result.is_direct() ? 0 : size);
    for (int64_t first = begin; first < end; first += step) {
      const int64_t rows = std::min(step, end - first), at = first * n;
      const T* const from = pixels.read(at, rows * n, wide.get());
      T* const to = result.place(at, computed.get());
      if (gradients.is_defined()) {
        const T* const gradient = gradients.read(at, rows * n, wide_gradients.get());
        loops.response_grad(&o, from, gradient, to, rows, n, workspace.get());
      } else {
        loops.response(&o, from, to, rows, n, workspace.get());
      }
      result.write(at, rows * n, to);
    }
  });
  result.finish();
}

void local_response_normalization(Params<kernels::LocalResponseNormalizationOptions> options, In x, Out y) {
  if (x->size() == 0) return;
  (x->dtype() == Dtype::float64 ? &responses<double> : &responses<float>)(*options, x, Array(), y);
}

void local_response_normalization_grad(Params<kernels::LocalResponseNormalizationOptions> options, In x, In gy,
                                       Out gx) {
  if (x->size() == 0) return;
  (x->dtype() == Dtype::float64 ? &responses<double> : &responses<float>)(*options, x, gy, gx);
}

}  // namespace

void register_normalization(Backend& backend) {
  backend.add<kernels::GroupNormalization>(&group_normalization);
  backend.add<kernels::GroupNormalizationGrad>(&group_normalization_grad);
  backend.add<kernels::RmsNormalization>(&rms_normalization);
  backend.add<kernels::RmsNormalizationGrad>(&rms_normalization_grad);
  backend.add<kernels::L2Normalization>(&l2_normalization);
  backend.add<kernels::L2NormalizationGrad>(&l2_normalization_grad);
  backend.add<kernels::LocalResponseNormalization>(&local_response_normalization);
  backend.add<kernels::LocalResponseNormalizationGrad>(&local_response_normalization_grad);
}

}  // namespace kusari::cpu
