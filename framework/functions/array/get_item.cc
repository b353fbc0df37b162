#include "kusari/framework/functions/array/get_item.h"

#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable get_item(const Variable& x, std::span<const Index> slices) {
  expect_given(x, "F::get_item", "x");
  return IndexPlan("F::get_item", x.shape(), slices).take(x);
}

}  // namespace kusari::functions
