#include "kusari/framework/functions/activation/celu.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

// gx = gy for x > 0, gy exp(x / alpha) elsewhere.
class CeluGrad final : public FunctionNode {
 public:
  explicit CeluGrad(double alpha) : alpha_{alpha} {}
  void describe(Attributes& options) const override { options.set("alpha", alpha_); }
  const char* name() const override { return "celu_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::CeluGrad{alpha_}, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable x = retained_input(0), gy = retained_input(1);
    return {needs_grad(0) ? curved_part(x, ggx[0] * gy) : Variable(),
            needs_grad(1) ? apply<CeluGrad>({x, ggx[0]}, alpha_) : Variable()};
  }
  // v exp(x / alpha) / alpha up to 0, else 0.
  Variable curved_part(const Variable& x, const Variable& v) const {
    return (apply<CeluGrad>({x, v}, alpha_) - apply<PiecewiseLinearGrad<kernels::ReluGrad>>({x, v})) / alpha_;
  }

  double alpha_;
};

class Celu final : public UnaryFunction<kernels::Celu, Keep::input> {
 public:
  explicit Celu(double alpha) : UnaryFunction(kernels::Celu{alpha}) {}
  void describe(Attributes& options) const override { options.set("alpha", op_.alpha); }

 private:
  Variables backward(const Variables& gy) override { return {apply<CeluGrad>({retained_input(0), gy[0]}, op_.alpha)}; }
};

}  // namespace

Variable celu(const Variable& x, double alpha) {
  argument::not_nan("F::celu", "alpha", alpha);
  argument::require(alpha != 0, "F::celu", "alpha", alpha, "not be 0");
  return apply<Celu>({x}, alpha);
}

}  // namespace kusari::functions
