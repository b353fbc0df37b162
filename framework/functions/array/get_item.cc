#include "kusari/framework/functions/array/get_item.h"

#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable get_item(const Variable& x, std::span<const Index> slices) {
  expect_given(x, "F::get_item", "x");
  return IndexPlan("F::get_item", x.shape(), slices).take(x);
}

Variable get_item(const Variable& x, std::initializer_list<Index> slices) {
  return get_item(x, std::span<const Index>(slices.begin(), slices.size()));
}

Variable get_item(const Variable& x, const Index& index) { return get_item(x, std::span<const Index>(&index, 1)); }

}  // namespace kusari::functions
