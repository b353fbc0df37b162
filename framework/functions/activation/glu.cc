#include "kusari/framework/functions/activation/glu.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable glu(const Variable& x, int64_t axis) {
  expect_floating(x, "F::glu", "x");
  const int at = normalize_axis(axis, x.ndim(), "F::glu");
  if (x.shape()[at] % 2 != 0) {
    throw TypeError("F::glu: x has shape " + to_string(x.shape()) + ": x.shape[" + std::to_string(at) +
                    "] must be even (" + std::to_string(x.shape()[at]) + ")");
  }
  const Variables halves = split_axis(x, 2, at);
  return halves[0] * sigmoid(halves[1]);
}

}  // namespace kusari::functions
