#include "kusari/framework/functions/activation/swish.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/channel_parameter.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

// beta broadcasts to x's shape.
class Swish final : public FunctionNode {
 public:
  const char* name() const override { return "swish"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, beta] = c.args("x", "beta");
    c.expect(x.is_floating(), beta.dtype() == x.dtype());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::Swish{}, in[0], in[1])};
  }

  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0), beta = retained_input(1);
    Variables gradients(2);
    if (!config().enable_backprop) {
      const Array &at = x.array(), &b = beta.array(), &g = gy[0].array();
      if (needs_grad(0)) gradients[0] = Variable(pointwise(kernels::SwishGrad{}, at, b, g), false);
      if (needs_grad(1)) {
        gradients[1] = sum_to(Variable(pointwise(kernels::SwishBetaGrad{}, at, b, g), false), beta.shape());
      }
      return gradients;
    }
    const Variable s = sigmoid(beta * x), slope = x * s * (1 - s);
    if (needs_grad(0)) gradients[0] = gy[0] * (s + beta * slope);
    if (needs_grad(1)) gradients[1] = sum_to(gy[0] * x * slope, beta.shape());
    return gradients;
  }
};

}  // namespace

Variable swish(const Variable& x, const Variable& beta) {
  expect_given(x, "F::swish", "x");
  expect_given(beta, "F::swish", "beta");

  return apply<Swish>({x, align_axes(x, beta, 1, "F::swish", "beta")});
}

Variable swish(const Variable& x) { return silu(x); }

}  // namespace kusari::functions
