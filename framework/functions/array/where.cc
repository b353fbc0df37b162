#include "kusari/framework/functions/array/where.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

class Where final : public FunctionNode {
 public:
  const char* name() const override { return "where"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [condition, x, y] = c.args("condition", "x", "y");
    c.expect(condition.dtype() == Dtype::bool_, x.dtype() == y.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {pointwise_as(in[1].dtype(), kernels::Where{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& gy) override {
    const Variable condition = retained_input(0);
    const Array zero = zeros({}, gy[0].dtype(), gy[0].device());
    return {Variable(), needs_grad(1) ? where(condition, gy[0], zero) : Variable(),
            needs_grad(2) ? where(condition, zero, gy[0]) : Variable()};
  }
};

}  // namespace

Variable where(const Variable& condition, const Variable& x, const Variable& y) {
  expect_given(condition, "F::where", "condition");
  expect_given(x, "F::where", "x");
  expect_given(y, "F::where", "y");

  const Shape shape =
      broadcast_shapes(broadcast_shapes(condition.shape(), x.shape(), "F::where"), y.shape(), "F::where");
  return apply<Where>({broadcast_to(condition, shape), broadcast_to(x, shape), broadcast_to(y, shape)});
}

}  // namespace kusari::functions
