#include "kusari/framework/functions/math/bias.h"

#include "kusari/framework/functions/channel_parameter.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable bias(const Variable& x, const Variable& y, int64_t axis) {
  expect_given(x, "F::bias", "x");
  expect_given(y, "F::bias", "y");
  expect_one_dtype(x, y, "F::bias", "y");
  return x + align_axes(x, y, normalize_axis(axis, x.ndim(), "F::bias"), "F::bias", "y");
}

}  // namespace kusari::functions
