#include "kusari/framework/functions/loss/row_scores.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {

Variable row_scores(const Variable& x, const Variable& W, const Array& rows, const kernels::RowLookup& lookup) {
  const Dtype dtype = x.dtype() == Dtype::float64 || W.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Variable taken = cast(take_rows(W, rows.reshape({rows.size()}), lookup), dtype);
  const Variable each = reshape(taken, {rows.shape()[0], rows.shape()[1], W.shape()[1]});
  return sum(expand_dims(cast(x, dtype), 1) * each, 2);
}

void check_row_scores(const char* call, const Variable& x, const Variable& t, const Variable& W) {
  expect_given(x, call, "x");
  expect_given(t, call, "t");
  expect_given(W, call, "W");
  const std::string start = std::string("F::") + call + ": ";
  const auto describe = [](const char* argument, const Variable& v) {
    return std::string(argument) + " has shape " + to_string(v.shape()) + " and dtype " + name(v.dtype());
  };
  if (!is_floating(x.dtype()) || x.ndim() != 2) {
    throw TypeError(start + describe("x", x) + ": it must be a floating matrix (N, D)");
  }
  if (!is_floating(W.dtype()) || W.ndim() != 2 || W.shape()[1] != x.shape()[1]) {
    throw TypeError(start + describe("W", W) + " but " + describe("x", x) + ": W must be (V, D) where x is (N, D)");
  }
  if (!is_integral(t.dtype()) || t.ndim() != 1 || t.shape()[0] != x.shape()[0]) {
    throw TypeError(start + describe("t", t) + " but " + describe("x", x) + ": t must be integers, one per row of x");
  }
}

}  // namespace kusari::functions
