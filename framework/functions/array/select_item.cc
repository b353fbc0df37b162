#include "kusari/framework/functions/array/select_item.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

Variable select_item(const Variable& x, const Variable& t) {
  expect_given(x, "F::select_item", "x");
  expect_given(t, "F::select_item", "t");

  if (x.ndim() != 2 || t.ndim() != 1 || t.shape()[0] != x.shape()[0] || !is_integral(t.dtype())) {
    throw TypeError("F::select_item: x has shape " + to_string(x.shape()) + " and t has shape " + to_string(t.shape()) +
                    " and dtype " + name(t.dtype()) + ": x must be (N, C) and t (N) integers");
  }
  return get_item(x, {arange(t.size(), Dtype::int64, x.device()), t.array()});
}

}  // namespace kusari::functions
