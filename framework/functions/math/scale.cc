#include "kusari/framework/functions/math/scale.h"

#include "kusari/framework/functions/channel_parameter.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable scale(const Variable& x, const Variable& y, int64_t axis) {
  expect_given(x, "F::scale", "x");
  expect_given(y, "F::scale", "y");
  expect_one_dtype(x, y, "F::scale", "y");
  return x * align_axes(x, y, normalize_axis(axis, x.ndim(), "F::scale"), "F::scale", "y");
}

}  // namespace kusari::functions
