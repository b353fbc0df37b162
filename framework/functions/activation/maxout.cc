#include "kusari/framework/functions/activation/maxout.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/minmax.h"

namespace kusari::functions {

Variable maxout(const Variable& x, int64_t pool_size, int64_t axis) {
  expect_floating(x, "F::maxout", "x");

  const int k = normalize_axis(axis, x.ndim(), "F::maxout");
  Shape shape = x.shape();
  if (pool_size < 1 || shape[k] % pool_size != 0) {
    throw ValueError("F::maxout: x has shape " + to_string(shape) + ": x.shape[" + std::to_string(k) +
                     "] must be a multiple of pool_size (" + std::to_string(pool_size) + ")");
  }
  shape[k] /= pool_size;
  shape.insert(k + 1, pool_size);
  return max(reshape(x, shape), k + 1);
}

}  // namespace kusari::functions
