#include "kusari/framework/functions/activation/tanh.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

// gx = gy (1 - y^2).
class TanhGrad final : public FunctionNode {
 public:
  const char* name() const override { return "tanh_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::TanhGrad{}, in[0], in[1])};
  }
  Variables backward(const Variables& ggx) override {
    const Variable y = retained_input(0), gy = retained_input(1);
    return {needs_grad(0) ? -2 * ggx[0] * gy * y : Variable(),
            needs_grad(1) ? apply<TanhGrad>({y, ggx[0]}) : Variable()};
  }
};

class Tanh final : public UnaryFunction<kernels::Tanh, Keep::output> {
  Variables backward(const Variables& gy) override { return {apply<TanhGrad>({retained_output(0), gy[0]})}; }
};

}  // namespace

Variable tanh(const Variable& x) { return apply<Tanh>({x}); }

}  // namespace kusari::functions
