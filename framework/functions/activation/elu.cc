#include "kusari/framework/functions/activation/elu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

// gx = gy for x > 0, gy alpha exp(x) elsewhere.
class EluGrad final : public FunctionNode {
 public:
  explicit EluGrad(double alpha) : alpha_{alpha} {}
  const char* name() const override { return "elu_grad"; }
  void describe(Attributes& options) const override { options.set("alpha", alpha_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::EluGrad{alpha_}, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable x = retained_input(0), gy = retained_input(1);
    return {needs_grad(0) ? lower_branch(x, ggx[0] * gy) : Variable(),
            needs_grad(1) ? apply<EluGrad>({x, ggx[0]}, alpha_) : Variable()};
  }
  // v alpha exp(x) up to 0, else 0: the slope curves on that branch only.
  Variable lower_branch(const Variable& x, const Variable& v) const {
    return apply<EluGrad>({x, v}, alpha_) - apply<PiecewiseLinearGrad<kernels::ReluGrad>>({x, v});
  }

  double alpha_;
};

class Elu final : public UnaryFunction<kernels::Elu, Keep::input> {
 public:
  explicit Elu(double alpha) : UnaryFunction(kernels::Elu{alpha}) {}
  void describe(Attributes& options) const override { options.set("alpha", op_.alpha); }

 private:
  Variables backward(const Variables& gy) override { return {apply<EluGrad>({retained_input(0), gy[0]}, op_.alpha)}; }
};

}  // namespace

Variable elu(const Variable& x, double alpha) {
  argument::not_nan("F::elu", "alpha", alpha);
  return apply<Elu>({x}, alpha);
}

Variable selu(const Variable& x, double alpha, double scale) {
  expect_floating(x, "F::selu", "x");
  argument::not_nan("F::selu", "alpha", alpha);
  argument::not_nan("F::selu", "scale", scale);
  return scale * elu(x, alpha);
}

}  // namespace kusari::functions
