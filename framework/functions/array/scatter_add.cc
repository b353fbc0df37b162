#include "kusari/framework/functions/array/scatter_add.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable scatter_add(const Variable& a, std::span<const Index> slices, const Variable& b) {
  if (const CompositeInputs in("scatter_add", {a, b}); in.is_cast()) return scatter_add(in[0], slices, in[1]);
  const IndexPlan plan("F::scatter_add", a.shape(), slices);
  return a + plan.put(broadcast_to(b, plan.result_shape()));
}

}  // namespace kusari::functions
