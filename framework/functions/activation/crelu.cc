#include "kusari/framework/functions/activation/crelu.h"

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable crelu(const Variable& x, int64_t axis) {
  expect_floating(x, "F::crelu", "x");
  return concat({relu(x), relu(-x)}, normalize_axis(axis, x.ndim(), "F::crelu"));
}

}  // namespace kusari::functions
