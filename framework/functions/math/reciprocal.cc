#include "kusari/framework/functions/math/reciprocal.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable reciprocal(const Variable& x) {
  expect_floating(x, "F::reciprocal", "x");
  return 1 / x;
}

}  // namespace kusari::functions
