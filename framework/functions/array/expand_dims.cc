#include "kusari/framework/functions/array/expand_dims.h"

#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable expand_dims(const Variable& x, int64_t axis) {
  expect_given(x, "F::expand_dims", "x");

  if (x.ndim() == kMaxNdim) {
    throw ValueError("F::expand_dims: x has shape " + to_string(x.shape()) + ": an array has at most " +
                     std::to_string(kMaxNdim) + " axes");
  }
  Shape shape = x.shape();
  shape.insert(normalize_axis(axis, x.ndim() + 1, "F::expand_dims"), 1);
  return reshape(x, shape);
}

}  // namespace kusari::functions
