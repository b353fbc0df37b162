#include "kusari/framework/functions/array/scatter_add.h"

#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable scatter_add(const Variable& a, std::span<const Index> slices, const Variable& b) {
  const IndexPlan plan("F::scatter_add", a.shape(), slices);
  return a + plan.put(broadcast_to(b, plan.result_shape()));
}

}  // namespace kusari::functions
