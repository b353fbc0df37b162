#include "kusari/framework/cpu/isa/normalization.h"

#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

/// Accumulators side by side, the same number in every instruction set.
constexpr i64 kLanes = 16;

template <i64 kCount>
__attribute__((always_inline)) inline double sum_at(const double* lane, i64 l) {
  if constexpr (kCount == kLanes) {
    return lane[l];
  } else {
    return sum_at<2 * kCount>(lane, l) + sum_at<2 * kCount>(lane, l + kCount);
  }
}
__attribute__((always_inline)) inline double total_of(const double* lane) { return sum_at<1>(lane, 0); }

template <class T>
void column_moments(const void* in, const void* centers, i64 rows, i64 n, double* sum, double* squares) {
  const T *const x = static_cast<const T*>(in), *const center = static_cast<const T*>(centers);
  i64 begin = 0;
  for (; begin + kLanes <= n; begin += kLanes) {  // a stripe whose sums stay in registers
    double s[kLanes], q[kLanes];
    T c[kLanes];
    for (i64 l = 0; l < kLanes; ++l) {
      s[l] = sum[begin + l];
      q[l] = squares[begin + l];
      c[l] = center[begin + l];
    }
    for (i64 r = 0; r < rows; ++r) {
      const T* const row = x + r * n + begin;
#pragma omp simd
      for (i64 l = 0; l < kLanes; ++l) {
        const double d = static_cast<double>(row[l]) - static_cast<double>(c[l]);
        s[l] += d;
        q[l] += d * d;
      }
    }
    for (i64 l = 0; l < kLanes; ++l) {
      sum[begin + l] = s[l];
      squares[begin + l] = q[l];
    }
  }
  for (i64 r = 0; r < rows; ++r) {
    const T* const row = x + r * n;
    for (i64 j = begin; j < n; ++j) {
      const double d = static_cast<double>(row[j]) - static_cast<double>(center[j]);
      sum[j] += d;
      squares[j] += d * d;
    }
  }
}

template <class T>
void column_normalize(const void* in, const void* means, const void* factors, const void* shifts, void* out, i64 rows,
                      i64 n) {
  const T *const x = static_cast<const T*>(in), *const mean = static_cast<const T*>(means);
  const T *const factor = static_cast<const T*>(factors), *const shift = static_cast<const T*>(shifts);
  T* const y = static_cast<T*>(out);
  for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
    for (i64 j = 0; j < n; ++j) y[r * n + j] = (x[r * n + j] - mean[j]) * factor[j] + shift[j];
  }
}

template <class T>
void column_products(const void* in, const void* means, const void* gradients, i64 rows, i64 n, double* sum,
                     double* products) {
  const T *const x = static_cast<const T*>(in), *const mean = static_cast<const T*>(means);
  const T* const gy = static_cast<const T*>(gradients);
  i64 begin = 0;
  for (; begin + kLanes <= n; begin += kLanes) {
    double s[kLanes], p[kLanes];
    T m[kLanes];
    for (i64 l = 0; l < kLanes; ++l) {
      s[l] = sum[begin + l];
      p[l] = products[begin + l];
      m[l] = mean[begin + l];
    }
    for (i64 r = 0; r < rows; ++r) {
      const i64 at = r * n + begin;
#pragma omp simd
      for (i64 l = 0; l < kLanes; ++l) {
        const double g = static_cast<double>(gy[at + l]);
        s[l] += g;
        p[l] += g * static_cast<double>(x[at + l] - m[l]);
      }
    }
    for (i64 l = 0; l < kLanes; ++l) {
      sum[begin + l] = s[l];
      products[begin + l] = p[l];
    }
  }
  for (i64 r = 0; r < rows; ++r) {
    for (i64 j = begin; j < n; ++j) {
      const double g = static_cast<double>(gy[r * n + j]);
      sum[j] += g;
      products[j] += g * static_cast<double>(x[r * n + j] - mean[j]);
    }
  }
}

template <class T>
void column_grad(const void* in, const void* gradients, const void* means, const void* as, const void* bs,
                 const void* ds, void* out, i64 rows, i64 n) {
  const T *const x = static_cast<const T*>(in), *const gy = static_cast<const T*>(gradients);
  const T *const mean = static_cast<const T*>(means), *const a = static_cast<const T*>(as);
  const T *const b = static_cast<const T*>(bs), *const d = static_cast<const T*>(ds);
  T* const gx = static_cast<T*>(out);
  for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const i64 at = r * n + j;
      gx[at] = (gy[at] * a[j] - (x[at] - mean[j]) * b[j]) - d[j];
    }
  }
}

template <class T>
void row_moments(const void* in, double center, i64 n, double* sum, double* squares) {
  const T* const x = static_cast<const T*>(in);
  double s[kLanes] = {}, q[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      const double d = static_cast<double>(x[i + l]) - center;
      s[l] += d;
      q[l] += d * d;
    }
  }
  for (i64 l = 0; i + l < n; ++l) {
    const double d = static_cast<double>(x[i + l]) - center;
    s[l] += d;
    q[l] += d * d;
  }
  *sum = total_of(s);
  *squares = total_of(q);
}

template <class T>
void row_normalize(const void* in, double row_mean, double row_inv_std, const void* gammas, const void* betas,
                   void* out, i64 n) {
  const T *const x = static_cast<const T*>(in), *const gamma = static_cast<const T*>(gammas);
  const T* const beta = static_cast<const T*>(betas);
  T* const y = static_cast<T*>(out);
  // The mean in two parts: what it loses as a T would show beside a small deviation.
  const T mean = static_cast<T>(row_mean), rest = static_cast<T>(row_mean - static_cast<double>(mean));
  const T inv_std = static_cast<T>(row_inv_std);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = ((x[i] - mean) - rest) * inv_std * gamma[i] + beta[i];
}

template <class T>
void row_scale_each(const void* in, double factor, const void* gammas, void* out, i64 n) {
  const T *const x = static_cast<const T*>(in), *const gamma = static_cast<const T*>(gammas);
  T* const y = static_cast<T*>(out);
  const T a = static_cast<T>(factor);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = x[i] * a * gamma[i];
}

template <class T>
void row_products(const void* in, double row_mean, const void* gradients, const void* gammas, i64 n, double* sum,
                  double* products) {
  const T *const x = static_cast<const T*>(in), *const gy = static_cast<const T*>(gradients);
  const T* const gamma = static_cast<const T*>(gammas);
  const T mean = static_cast<T>(row_mean);
  double s[kLanes] = {}, p[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      const double g = static_cast<double>(gy[i + l] * gamma[i + l]);
      s[l] += g;
      p[l] += g * static_cast<double>(x[i + l] - mean);
    }
  }
  for (i64 l = 0; i + l < n; ++l) {
    const double g = static_cast<double>(gy[i + l] * gamma[i + l]);
    s[l] += g;
    p[l] += g * static_cast<double>(x[i + l] - mean);
  }
  *sum = total_of(s);
  *products = total_of(p) - (row_mean - static_cast<double>(mean)) * *sum;
}

template <class T>
void row_grad(const void* in, const void* gradients, const void* gammas, double row_mean, double row_a, double row_b,
              double row_d, void* out, i64 n) {
  const T *const x = static_cast<const T*>(in), *const gy = static_cast<const T*>(gradients);
  const T* const gamma = static_cast<const T*>(gammas);
  T* const gx = static_cast<T*>(out);
  const T mean = static_cast<T>(row_mean), a = static_cast<T>(row_a), b = static_cast<T>(row_b);
  const T d = static_cast<T>(row_d - (row_mean - static_cast<double>(mean)) * row_b * row_a);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = (gy[i] * gamma[i] - (x[i] - mean) * b) * a - d;
}

template <class T>
void row_parameter_grad(const void* in, const void* gradients, double mean, double inv_std, i64 n, double* ggamma,
                        double* gbeta) {
  const T *const x = static_cast<const T*>(in), *const gy = static_cast<const T*>(gradients);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const double g = static_cast<double>(gy[i]);
    ggamma[i] += g * ((static_cast<double>(x[i]) - mean) * inv_std);
    gbeta[i] += g;
  }
}

template <class T>
void row_dots(const void* in, const void* gradients, i64 n, double* squares, double* dot) {
  const T *const x = static_cast<const T*>(in), *const gy = static_cast<const T*>(gradients);
  double q[kLanes] = {}, p[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      const double v = static_cast<double>(x[i + l]);
      q[l] += v * v;
      p[l] += v * static_cast<double>(gy[i + l]);
    }
  }
  for (i64 l = 0; i + l < n; ++l) {
    const double v = static_cast<double>(x[i + l]);
    q[l] += v * v;
    p[l] += v * static_cast<double>(gy[i + l]);
  }
  *squares = total_of(q);
  *dot = total_of(p);
}

template <class T>
void row_scale(const void* in, double factor, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  T* const y = static_cast<T*>(out);
  const T a = static_cast<T>(factor);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = x[i] * a;
}

template <class T>
void row_difference(const void* gradients, double factor, const void* in, double along, void* out, i64 n) {
  const T *const gy = static_cast<const T*>(gradients), *const x = static_cast<const T*>(in);
  T* const gx = static_cast<T*>(out);
  const T a = static_cast<T>(factor), b = static_cast<T>(along);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = (gy[i] - x[i] * b) * a;
}

/// total[c] = the sum of padded[c .. c + 2 reach].
template <class T>
void window_sums(const T* padded, i64 reach, i64 n, T* total) {
  if (reach == 2) {  // the usual window
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      total[j] = (((padded[j] + padded[j + 1]) + padded[j + 2]) + padded[j + 3]) + padded[j + 4];
    }
    return;
  }
#pragma omp simd
  for (i64 j = 0; j < n; ++j) total[j] = padded[j];
  for (i64 d = 1; d <= 2 * reach; ++d) {
#pragma omp simd
    for (i64 j = 0; j < n; ++j) total[j] += padded[j + d];
  }
}

/// u^-beta for u > 0.
template <bool kUsual, class T>
__attribute__((always_inline)) inline T response_scale(T u, T beta) {
  if constexpr (kUsual) {  // beta = 0.75
    const T root = km::sqrt(u);
    return T(1) / (root * km::sqrt(root));
  } else {
    return km::exp(-beta * km::log(u));
  }
}

/// The buffers of a block of rows. A block takes one step at a time: the sums read across the elements that were
/// written just before, for which a single row would have to wait.
template <class T>
struct ResponseBlock {
  i64 n, reach, width;
  T *padded, *total, *scaled;

  ResponseBlock(const ResponseOptions& o, i64 channels, T* workspace)
      : n{channels},
        reach{o.reach},
        width{channels + 2 * o.reach},
        padded{workspace},
        total{padded + o.block * width},
        scaled{total + o.block * n} {
    for (i64 i = 0; i < o.block * width; ++i) padded[i] = T(0);
  }
  T* middle(i64 row) const { return padded + row * width + reach; }
  void square(const T* x, i64 rows) const {
    for (i64 r = 0; r < rows; ++r) {
      T* const to = middle(r);
#pragma omp simd
      for (i64 j = 0; j < n; ++j) to[j] = x[r * n + j] * x[r * n + j];
    }
  }
  void sum(i64 rows) const {
    for (i64 r = 0; r < rows; ++r) window_sums(padded + r * width, reach, n, total + r * n);
  }
};

template <bool kUsual, class T>
void response_rows(const ResponseOptions* options, const T* x, T* y, i64 rows, i64 n, T* workspace) {
  const ResponseBlock<T> block(*options, n, workspace);
  const T k = static_cast<T>(options->k), alpha = static_cast<T>(options->alpha), beta = static_cast<T>(options->beta);
  for (i64 begin = 0; begin < rows; begin += options->block) {
    const i64 count = rows - begin < options->block ? rows - begin : options->block;
    block.square(x, count);
    block.sum(count);
    const T* const total = block.total;
#pragma omp simd
    for (i64 i = 0; i < count * n; ++i) y[i] = x[i] * response_scale<kUsual>(k + alpha * total[i], beta);
    x += count * n;
    y += count * n;
  }
}

template <bool kUsual, class T>
void response_grad_rows(const ResponseOptions* options, const T* x, const T* gy, T* gx, i64 rows, i64 n, T* workspace) {
  const ResponseBlock<T> block(*options, n, workspace);
  const T k = static_cast<T>(options->k), alpha = static_cast<T>(options->alpha), beta = static_cast<T>(options->beta);
  const T factor = T(2) * alpha * beta;
  const T* const total = block.total;
  T* const scaled = block.scaled;
  for (i64 begin = 0; begin < rows; begin += options->block) {
    const i64 count = rows - begin < options->block ? rows - begin : options->block;
    block.square(x, count);
    block.sum(count);
    for (i64 r = 0; r < count; ++r) {
      T* const middle = block.middle(r);
#pragma omp simd
      for (i64 j = 0; j < n; ++j) {
        const i64 i = r * n + j;
        const T unit = k + alpha * total[i];
        scaled[i] = gy[i] * response_scale<kUsual>(unit, beta);
        middle[j] = x[i] * scaled[i] / unit;
      }
    }
    block.sum(count);
#pragma omp simd
    for (i64 i = 0; i < count * n; ++i) gx[i] = scaled[i] - factor * x[i] * total[i];
    x += count * n;
    gy += count * n;
    gx += count * n;
  }
}

template <class T>
void response(const ResponseOptions* options, const void* in, void* out, i64 rows, i64 n, void* workspace) {
  const bool usual = options->beta == 0.75;
  (usual ? &response_rows<true, T> : &response_rows<false, T>)(options, static_cast<const T*>(in), static_cast<T*>(out),
                                                               rows, n, static_cast<T*>(workspace));
}

template <class T>
void response_grad(const ResponseOptions* options, const void* in, const void* gradients, void* out, i64 rows, i64 n,
                   void* workspace) {
  const bool usual = options->beta == 0.75;
  (usual ? &response_grad_rows<true, T>
         : &response_grad_rows<false, T>)(options, static_cast<const T*>(in), static_cast<const T*>(gradients),
                                          static_cast<T*>(out), rows, n, static_cast<T*>(workspace));
}

template <class T>
constexpr PixelNormalizationLoop pixel_normalization_loop() {
  return {&column_moments<T>, &column_normalize<T>, &column_products<T>, &column_grad<T>, &row_moments<T>,
          &row_normalize<T>,  &row_scale_each<T>,   &row_products<T>,    &row_grad<T>,    &row_parameter_grad<T>,
          &row_dots<T>,       &row_scale<T>,        &row_difference<T>,  &response<T>,    &response_grad<T>};
}
constexpr PixelNormalizationLoops kTable = {pixel_normalization_loop<float>(), pixel_normalization_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const PixelNormalizationLoops* pixel_normalization_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
