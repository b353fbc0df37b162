#include "kusari/framework/functions/activation/tanhshrink.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Tanhshrink final : public UnaryFunction<kernels::Tanhshrink, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (!config().enable_backprop) {
      return {Variable(pointwise(kernels::TanhshrinkGrad{}, x.array(), gy[0].array()), false)};
    }
    const Variable t = tanh(x);
    return {gy[0] * (t * t)};
  }
};

}  // namespace

Variable tanhshrink(const Variable& x) { return apply<Tanhshrink>({x}); }

}  // namespace kusari::functions
