#include "kusari/framework/functions/activation/log_sigmoid.h"

#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable log_sigmoid(const Variable& x) {
  expect_floating(x, "F::log_sigmoid", "x");
  return -softplus(-x);
}

}  // namespace kusari::functions
