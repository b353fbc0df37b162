#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

struct ResponseOptions {
  i64 reach;
  double k;
  double alpha;
  double beta;
  i64 block;  // rows that take each step together
};

/// Normalization of channels-last elements: `rows` pixels of n contiguous channels. Elements and per-channel arrays are
/// of the loop's type T, sums are double.
struct PixelNormalizationLoop {
  // Columns: statistics for each channel.

  /// sum[c] += sum(d), squares[c] += sum(d^2) with d = x - center[c].
  void (*column_moments)(const void* x, const void* center, i64 rows, i64 n, double* sum, double* squares);
  /// y = (x - mean[c]) factor[c] + shift[c].
  void (*column_normalize)(const void* x, const void* mean, const void* factor, const void* shift, void* y, i64 rows,
                           i64 n);
  /// sum[c] += sum(gy), products[c] += sum(gy (x - mean[c])).
  void (*column_products)(const void* x, const void* mean, const void* gy, i64 rows, i64 n, double* sum,
                          double* products);
  /// gx = gy a[c] - (x - mean[c]) b[c] - d[c].
  void (*column_grad)(const void* x, const void* gy, const void* mean, const void* a, const void* b, const void* d,
                      void* gx, i64 rows, i64 n);

  // Rows: statistics over n neighbours.

  /// *sum = sum(d), *squares = sum(d^2) with d = x - center.
  void (*row_moments)(const void* x, double center, i64 n, double* sum, double* squares);
  /// y = (x - mean) inv_std gamma + beta.
  void (*row_normalize)(const void* x, double mean, double inv_std, const void* gamma, const void* beta, void* y,
                        i64 n);
  /// y = x factor gamma.
  void (*row_scale_each)(const void* x, double factor, const void* gamma, void* y, i64 n);
  /// *sum = sum(gy gamma), *products = sum(gy gamma (x - mean)).
  void (*row_products)(const void* x, double mean, const void* gy, const void* gamma, i64 n, double* sum,
                       double* products);
  /// gx = (gy gamma - (x - mean) b) a - d.
  void (*row_grad)(const void* x, const void* gy, const void* gamma, double mean, double a, double b, double d,
                   void* gx, i64 n);
  /// ggamma[i] += gy (x - mean) inv_std, gbeta[i] += gy.
  void (*row_parameter_grad)(const void* x, const void* gy, double mean, double inv_std, i64 n, double* ggamma,
                             double* gbeta);

  /// *squares = sum(x^2), *dot = sum(x gy).
  void (*row_dots)(const void* x, const void* gy, i64 n, double* squares, double* dot);
  /// y = x factor.
  void (*row_scale)(const void* x, double factor, void* y, i64 n);
  /// gx = (gy - x along) factor.
  void (*row_difference)(const void* gy, double factor, const void* x, double along, void* gx, i64 n);

  // Local responses, each pixel by itself. workspace: block (3 n + 2 reach) elements.

  void (*response)(const ResponseOptions* options, const void* x, void* y, i64 rows, i64 n, void* workspace);
  void (*response_grad)(const ResponseOptions* options, const void* x, const void* gy, void* gx, i64 rows, i64 n,
                        void* workspace);
};

struct PixelNormalizationLoops {
  PixelNormalizationLoop f32;
  PixelNormalizationLoop f64;
};

KUSARI_DECLARE_LOOPS(PixelNormalizationLoops, pixel_normalization_loops)

}  // namespace kusari::cpu
