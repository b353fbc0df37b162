#include "kusari/framework/functions/activation/sigmoid.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

// gx = gy y (1 - y).
class SigmoidGrad final : public FunctionNode {
 public:
  const char* name() const override { return "sigmoid_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::SigmoidGrad{}, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable y = retained_input(0), gy = retained_input(1);
    return {needs_grad(0) ? ggx[0] * gy * (1 - 2 * y) : Variable(),
            needs_grad(1) ? apply<SigmoidGrad>({y, ggx[0]}) : Variable()};
  }
};

class Sigmoid final : public UnaryFunction<kernels::Sigmoid, Keep::output> {
  Variables backward(const Variables& gy) override { return {apply<SigmoidGrad>({retained_output(0), gy[0]})}; }
};

}  // namespace

Variable sigmoid(const Variable& x) { return apply<Sigmoid>({x}); }

}  // namespace kusari::functions
