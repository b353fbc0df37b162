#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// A block of rows of `channels` contiguous elements and what there is for each channel. Elements are of the storage
/// type; what belongs to channels is of the compute type: float, or double for double.
struct BatchNormBlock {
  i64 rows = 0;
  i64 channels = 0;

  const void* x = nullptr;
  const void* residual = nullptr;
  const void* y = nullptr;   ///< the result of a forward with residual
  const void* gy = nullptr;  ///< the gradient of y
  void* out = nullptr;       ///< y or gx
  void* masked = nullptr;    ///< gy where y > 0, else 0: the gradient of the residual

  const void* mean = nullptr;
  const void* scale = nullptr;  ///< gamma / sqrt(var + eps)
  const void* beta = nullptr;
  const void* offset = nullptr;  ///< mean of the masked gy
  const void* slope = nullptr;   ///< mean of the masked gy (x - mean), over var + eps

  void* shift = nullptr;   ///< a number near the elements, subtracted before they are summed
  void* sum = nullptr;     ///< of x - shift, or of the masked gy
  void* square = nullptr;  ///< sum of (x - shift)^2, or of the masked gy times x - mean
};

using BatchNormLoop = void (*)(const BatchNormBlock& block);

/// Where the gradient passes the ReLU: everywhere, where (x - mean) scale + beta > 0, where y > 0.
enum BatchNormMask { kMaskNone, kMaskFromX, kMaskFromY, kMaskCount };

/// The numbers of n channels that belong to all rows; in double, because they are sums over many rows.
struct BatchNormChannelLoops {
  /// mean += rows shift + sum, for the moments of a piece: part = {shift, sum, square}, n numbers each.
  void (*add_means)(const void* part, i64 rows, i64 n, double* mean);
  /// deviations += the squared deviations of the piece's rows from mean.
  void (*add_deviations)(const void* part, i64 rows, i64 n, const double* mean, double* deviations);
  /// sum and product += part = {sum, product}, n numbers each.
  void (*add_sums)(const void* part, i64 n, double* sum, double* product);
  /// inv_std = 1 / sqrt(deviations / count + eps).
  void (*inverse_deviations)(const double* deviations, double count, double eps, void* inv_std, i64 n);
};

struct BatchNormLoops {
  /// shift = the mean of a few rows; sum and square of x - shift.
  BatchNormLoop moments;
  /// out = (x - mean) scale + beta, [with residual added][cut at 0].
  BatchNormLoop apply[2][2];
  /// sum and square for the gradient; kMaskFromY also writes `masked`.
  BatchNormLoop sums[kMaskCount];
  /// out = scale ((gy - offset) - (x - mean) slope), gy masked from x or not at all.
  BatchNormLoop gradient[2];
  /// out = scale gy: the statistics are constants.
  BatchNormLoop fixed_gradient[2];

  BatchNormChannelLoops channels;
};

/// By storage type.
struct BatchNormTable {
  BatchNormLoops f16, bf16, f32, f64;
};

KUSARI_DECLARE_LOOPS(BatchNormTable, batch_norm_loops)

}  // namespace kusari::cpu
