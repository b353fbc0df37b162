#include "kusari/framework/functions/activation/leaky_relu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class LeakyRelu final : public UnaryFunction<kernels::LeakyRelu, Keep::input> {
 public:
  explicit LeakyRelu(double slope) : UnaryFunction(kernels::LeakyRelu{slope}) {}
  void describe(Attributes& options) const override { options.set("slope", op_.slope); }

 private:
  Variables backward(const Variables& gy) override {
    const kernels::LeakyReluGrad grad{op_.slope};
    return {apply<PiecewiseLinearGrad<kernels::LeakyReluGrad>>({retained_input(0), gy[0]}, grad)};
  }
};

}  // namespace

Variable leaky_relu(const Variable& x, double slope) {
  argument::not_nan("F::leaky_relu", "slope", slope);
  return apply<LeakyRelu>({x}, slope);
}

}  // namespace kusari::functions
