#include "kusari/framework/functions/array/expand_dims.h"

#include "kusari/framework/functions/array/reshape.h"

namespace kusari::functions {

Variable expand_dims(const Variable& x, int64_t axis) {
  Shape shape = x.shape();
  shape.insert(normalize_axis(axis, x.ndim() + 1, "F::expand_dims"), 1);
  return reshape(x, shape);
}

}  // namespace kusari::functions
