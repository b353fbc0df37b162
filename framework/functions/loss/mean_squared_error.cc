#include "kusari/framework/functions/loss/mean_squared_error.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions {
namespace {

class MeanSquaredError final : public FunctionNode {
 public:
  const char* name() const override { return "mean_squared_error"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x0, x1] = c.args("x0", "x1");
    c.expect(x0.is_floating(), x0.dtype() == x1.dtype(), x0.shape() == x1.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Dtype dtype = in[0].dtype(), wide = is_half(dtype) ? Dtype::float32 : dtype;
    const Array loss = reduce(kernels::SquareSum{}, pointwise_as(wide, kernels::Sub{}, in[0], in[1]));
    pointwise_to(loss, kernels::DivConst{static_cast<double>(in[0].size())}, loss);
    return {loss.astype(dtype)};
  }

  Variables backward(const Variables& gy) override {
    const Variable x0 = retained_input(0), x1 = retained_input(1);
    const Variable g = (x0 - x1) * (gy[0] * (2 / static_cast<double>(x0.size())));
    return {g, needs_grad(1) ? -g : Variable()};
  }
};

}  // namespace

Variable mean_squared_error(const Variable& x0, const Variable& x1) { return apply<MeanSquaredError>({x0, x1}); }

}  // namespace kusari::functions
