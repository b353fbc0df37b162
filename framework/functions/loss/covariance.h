#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"

namespace kusari::functions {

/// (y - mean(y))^T (z - mean(z)) / N for y: (N, L) and z: (N, M) of one dtype, float32 at least.
inline Variable covariance(const Variable& y, const Variable& z) {
  const Variable y_centred = y - mean(y, 0, {}, true);
  const Variable z_centred = is_same(y, z) ? y_centred : z - mean(z, 0, {}, true);
  return matmul(y_centred, z_centred, {.transa = true}) / y.shape()[0];
}

}  // namespace kusari::functions
