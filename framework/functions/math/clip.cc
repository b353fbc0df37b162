#include "kusari/framework/functions/math/clip.h"

#include <cmath>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Clip final : public UnaryFunction<kernels::Clip, Keep::input> {
 public:
  using UnaryFunction::UnaryFunction;
  void describe(Attributes& options) const override {
    options.set("low", op_.low);
    options.set("high", op_.high);
  }

 private:
  Variables backward(const Variables& gy) override {
    const kernels::ClipGrad grad{op_.low, op_.high};
    return {apply<PiecewiseLinearGrad<kernels::ClipGrad>>({retained_input(0), gy[0]}, grad)};
  }
};

}  // namespace

Variable clip(const Variable& x, std::optional<double> x_min, std::optional<double> x_max) {
  if (!x_min && !x_max) throw ValueError("F::clip: x_min and x_max are both open: one of them must be a number");
  const double low = x_min.value_or(-HUGE_VAL), high = x_max.value_or(HUGE_VAL);
  if (!(low <= high)) {
    throw ValueError("F::clip: x_min " + general_text(low) + " must be at most x_max " + general_text(high));
  }
  return apply<Clip>({x}, kernels::Clip{low, high});
}

}  // namespace kusari::functions
