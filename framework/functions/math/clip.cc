#include "kusari/framework/functions/math/clip.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Clip final : public UnaryFunction<kernels::Clip, Keep::input> {
 public:
  using UnaryFunction::UnaryFunction;

 private:
  Variables backward(const Variables& gy) override {
    const kernels::ClipGrad grad{op_.low, op_.high};
    return {apply<PiecewiseLinearGrad<kernels::ClipGrad>>({retained_input(0), gy[0]}, grad)};
  }
};

}  // namespace

Variable clip(const Variable& x, double x_min, double x_max) {
  if (!(x_min <= x_max)) {
    throw ValueError("F::clip: x_min " + std::to_string(x_min) + " must be at most x_max " + std::to_string(x_max));
  }
  return apply<Clip>({x}, kernels::Clip{x_min, x_max});
}

}  // namespace kusari::functions
