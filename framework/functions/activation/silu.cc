#include "kusari/framework/functions/activation/silu.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Silu final : public UnaryFunction<kernels::Silu, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (!config().enable_backprop) {
      return {Variable(pointwise(kernels::SiluGrad{}, x.array(), gy[0].array()), false)};
    }
    const Variable s = sigmoid(x);
    return {gy[0] * s * (1 + x * (1 - s))};
  }
};

}  // namespace

Variable silu(const Variable& x) { return apply<Silu>({x}); }

}  // namespace kusari::functions
