#include "kusari/framework/functions/activation/mish.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Mish final : public UnaryFunction<kernels::Mish, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (!config().enable_backprop) {
      return {Variable(pointwise(kernels::MishGrad{}, x.array(), gy[0].array()), false)};
    }
    const Variable t = tanh(softplus(x));
    return {gy[0] * (t + x * (1 - t * t) * sigmoid(x))};
  }
};

}  // namespace

Variable mish(const Variable& x) { return apply<Mish>({x}); }

}  // namespace kusari::functions
