#include "kusari/framework/functions/math/maximum.h"

#include "kusari/framework/functions/math/choice.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"

namespace kusari::functions {

Variable maximum(const Variable& x1, const Variable& x2) {
  using Node = Choice<kernels::Maximum, kernels::MaximumGrad, kernels::MaximumGradSecond>;
  return choose<Node>("F::maximum", x1, x2);
}

}  // namespace kusari::functions
