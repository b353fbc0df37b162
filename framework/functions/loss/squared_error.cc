#include "kusari/framework/functions/loss/squared_error.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

class SquaredError final : public FunctionNode {
 public:
  const char* name() const override { return "squared_error"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x0, x1] = c.args("x0", "x1");
    c.expect(x0.is_floating(), x0.dtype() == x1.dtype(), x0.shape() == x1.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array y = pointwise(kernels::Sub{}, in[0], in[1]);
    pointwise_to(y, kernels::Square{}, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const Variable x0 = retained_input(0), x1 = retained_input(1);
    const Variable g = 2 * (x0 - x1) * gy[0];
    return {g, needs_grad(1) ? -g : Variable()};
  }
};

}  // namespace

Variable squared_error(const Variable& x0, const Variable& x1) { return apply<SquaredError>({x0, x1}); }

}  // namespace kusari::functions
