#include "kusari/framework/functions/array/scatter_add.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable scatter_add(const Variable& a, std::span<const Index> slices, const Variable& b) {
  if (const CompositeInputs in("scatter_add", {a, b}); in.is_cast()) return scatter_add(in[0], slices, in[1]);
  expect_given(a, "F::scatter_add", "a");
  expect_given(b, "F::scatter_add", "b");
  if (a.dtype() != b.dtype()) {
    throw TypeError(std::string("F::scatter_add: a has dtype ") + name(a.dtype()) + " but b has dtype " +
                    name(b.dtype()) + ": a.dtype must equal b.dtype");
  }
  const IndexPlan plan("F::scatter_add", a.shape(), slices);
  const Shape shape = plan.result_shape();
  if (broadcast_shapes(b.shape(), shape, "F::scatter_add") != shape) {
    throw TypeError("F::scatter_add: b has shape " + to_string(b.shape()) + ": it must broadcast to " +
                    to_string(shape) + ", the shape of a[slices]");
  }
  return a + plan.put(broadcast_to(b, shape));
}

Variable scatter_add(const Variable& a, std::initializer_list<Index> slices, const Variable& b) {
  return scatter_add(a, std::span<const Index>(slices.begin(), slices.size()), b);
}

}  // namespace kusari::functions
