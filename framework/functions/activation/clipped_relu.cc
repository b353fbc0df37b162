#include "kusari/framework/functions/activation/clipped_relu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class ClippedRelu final : public UnaryFunction<kernels::ClippedRelu, Keep::input> {
 public:
  explicit ClippedRelu(double z) : UnaryFunction(kernels::ClippedRelu{z}) {}
  void describe(Attributes& options) const override { options.set("z", op_.z); }

 private:
  Variables backward(const Variables& gy) override {
    const kernels::ClippedReluGrad grad{op_.z};
    return {apply<PiecewiseLinearGrad<kernels::ClippedReluGrad>>({retained_input(0), gy[0]}, grad)};
  }
};

}  // namespace

Variable clipped_relu(const Variable& x, double z) {
  argument::not_nan("F::clipped_relu", "z", z);
  return apply<ClippedRelu>({x}, z);
}
Variable relu6(const Variable& x) {
  expect_floating(x, "F::relu6", "x");
  return clipped_relu(x, 6);
}

}  // namespace kusari::functions
