#include "kusari/framework/functions/activation/hard_swish.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class HardSwishGrad final : public FunctionNode {
 public:
  const char* name() const override { return "hard_swish_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::HardSwishGrad{}, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable x = retained_input(0), gy = retained_input(1);
    Variables gradients(2);
    if (needs_grad(0)) gradients[0] = 2 * between_edges(x, ggx[0] * gy);
    if (needs_grad(1)) gradients[1] = apply<HardSwishGrad>({x, ggx[0]});
    return gradients;
  }
  // v / 6 where the slope changes, else 0.
  static Variable between_edges(const Variable& x, const Variable& v) {
    return apply<PiecewiseLinearGrad<kernels::HardSigmoidGrad>>({x, v}, kernels::HardSigmoidGrad{1.0 / 6, 0.5});
  }
};

class HardSwish final : public UnaryFunction<kernels::HardSwish, Keep::input> {
  Variables backward(const Variables& gy) override { return {apply<HardSwishGrad>({retained_input(0), gy[0]})}; }
};

}  // namespace

Variable hard_swish(const Variable& x) { return apply<HardSwish>({x}); }

}  // namespace kusari::functions
