#include "kusari/framework/functions/array/nonzero.h"

#include <vector>

#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {

Variable nonzero(const Variable& x) {
  expect_given(x, "F::nonzero", "x");
  const Array is_set = x.array() != 0;
  const std::vector<bool> flags = is_set.to_vector<bool>();
  int64_t count = 0;
  for (const bool flag : flags) count += flag ? 1 : 0;

  const int ndim = x.ndim();
  std::vector<int64_t> places = host_vector<int64_t>({ndim, count}, "F::nonzero");
  Shape at = Shape::filled(ndim, 0);
  int64_t column = 0;
  for (const bool flag : flags) {
    if (flag) {
      for (int axis = 0; axis < ndim; ++axis) places[static_cast<size_t>(axis * count + column)] = at[axis];
      ++column;
    }
    for (int axis = ndim - 1; axis >= 0 && ++at[axis] == x.shape()[axis]; --axis) at[axis] = 0;
  }
  return Variable(array(places, {ndim, count}, x.device()), false);
}

}  // namespace kusari::functions
