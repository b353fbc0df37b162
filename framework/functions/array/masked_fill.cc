#include "kusari/framework/functions/array/masked_fill.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {

Variable masked_fill(const Variable& x, const Variable& mask, Scalar value) {
  const char* const call = "F::masked_fill";
  expect_given(x, call, "x");
  expect_given(mask, call, "mask");
  if (mask.dtype() != Dtype::bool_) {
    throw TypeError(std::string(call) + ": mask has dtype " + name(mask.dtype()) + ": it must be bool");
  }
  if (broadcast_shapes(x.shape(), mask.shape(), call) != x.shape()) {
    throw TypeError(std::string(call) + ": mask has shape " + to_string(mask.shape()) + ": it must broadcast to " +
                    to_string(x.shape()) + ", the shape of x");
  }
  if (!is_floating(x.dtype()) && !value.is_integral()) {
    throw TypeError(std::string(call) + ": value is a real number beside x of dtype " + name(x.dtype()) +
                    ": it must be an integer");
  }
  expect_fits(x.dtype(), value, call);
  return where(mask, Variable(full({}, value, x.dtype(), x.device()), false), x);
}

}  // namespace kusari::functions
