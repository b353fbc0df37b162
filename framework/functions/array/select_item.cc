#include "kusari/framework/functions/array/select_item.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable select_item(const Variable& x, const Variable& t) {
  expect_given(x, "F::select_item", "x");
  expect_given(t, "F::select_item", "t");

  if (x.ndim() != 2 || t.ndim() != 1 || t.shape()[0] != x.shape()[0] || !is_integral(t.dtype())) {
    throw TypeError("F::select_item: x has shape " + to_string(x.shape()) + " and t has shape " + to_string(t.shape()) +
                    " and dtype " + name(t.dtype()) + ": x must be (N, C) and t (N) integers");
  }
  const Index places[] = {arange(t.size(), Dtype::int64, x.device()), t.array()};
  return IndexPlan("F::select_item", x.shape(), places).take(x);
}

}  // namespace kusari::functions
