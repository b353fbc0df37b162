#include "kusari/framework/functions/math/sign.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {

Variable sign(const Variable& x) {
  expect_given(x, "F::sign", "x");

  if (!is_floating(x.dtype())) {
    throw TypeError(std::string("F::sign: x has dtype ") + name(x.dtype()) + ": x.dtype must be floating");
  }
  return apply<StepFunction<kernels::Sign>>({Variable(x.array(), false)}, "F::sign");
}

}  // namespace kusari::functions
