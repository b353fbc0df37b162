#include "kusari/framework/functions/math/sign.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {

Variable sign(const Variable& x) {
  expect_given(x, "F::sign", "x");
  if (!is_floating(x.dtype())) return Variable(pointwise(kernels::Sign{}, x.array()), false);
  return apply<StepFunction<kernels::Sign>>({Variable(x.array(), false)}, "F::sign");
}

}  // namespace kusari::functions
