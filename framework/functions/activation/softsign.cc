#include "kusari/framework/functions/activation/softsign.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable softsign(const Variable& x) {
  expect_floating(x, "F::softsign", "x");
  return x / (1 + absolute(x));
}

}  // namespace kusari::functions
