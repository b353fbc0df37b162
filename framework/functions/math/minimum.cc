#include "kusari/framework/functions/math/minimum.h"

#include "kusari/framework/functions/math/choice.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"

namespace kusari::functions {

Variable minimum(const Variable& x1, const Variable& x2) {
  using Node = Choice<kernels::Minimum, kernels::MinimumGrad, kernels::MinimumGradSecond>;
  return choose<Node>("F::minimum", x1, x2);
}

}  // namespace kusari::functions
