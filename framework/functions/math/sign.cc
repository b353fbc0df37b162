#include "kusari/framework/functions/math/sign.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {

Variable sign(const Variable& x) {
  expect_given(x, "F::sign", "x");
  return Variable(pointwise(kernels::Sign{}, x.array()), false);
}

}  // namespace kusari::functions
