#include "kusari/framework/functions/activation/prelu.h"

#include "kusari/framework/functions/channel_parameter.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

using OnNegativeSide = PiecewiseLinearGrad<kernels::NegativeSide>;

// gx = gy for x >= 0, W gy otherwise: linear in gy and in W.
class PReLUGrad final : public FunctionNode {
 public:
  const char* name() const override { return "prelu_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    return {pointwise(kernels::PreluGrad{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable x = retained_input(0), W = retained_input(1), gy = retained_input(2);
    Variables gradients(3);
    if (needs_grad(1)) gradients[1] = sum_to(apply<OnNegativeSide>({x, gy * ggx[0]}), W.shape());
    if (needs_grad(2)) gradients[2] = apply<PReLUGrad>({x, W, ggx[0]});
    return gradients;
  }
};

// W broadcasts to x's shape.
class PReLU final : public FunctionNode {
 public:
  const char* name() const override { return "prelu"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, W] = c.args("x", "W");
    c.expect(x.is_floating(), W.dtype() == x.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::Prelu{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0), W = retained_input(1);
    Variables gradients(2);
    if (needs_grad(0)) gradients[0] = apply<PReLUGrad>({x, W, gy[0]});
    if (needs_grad(1)) gradients[1] = sum_to(apply<OnNegativeSide>({x, x * gy[0]}), W.shape());
    return gradients;
  }
};

}  // namespace

Variable prelu(const Variable& x, const Variable& W) {
  expect_given(x, "F::prelu", "x");
  expect_given(W, "F::prelu", "W");
  return apply<PReLU>({x, align_axes(x, W, 1, "F::prelu", "W")});
}

}  // namespace kusari::functions
