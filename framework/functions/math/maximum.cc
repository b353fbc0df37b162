#include "kusari/framework/functions/math/maximum.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

// Which of the two won decides where a gradient goes, and nothing else: x1 and x2 get no gradient from it.
template <class Op>
class MaximumGrad final : public FunctionNode {
 public:
  const char* name() const override { return Op::kName; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(Op{}, in[0], in[1], in[2])};
  }
  Variables backward(const Variables& ggx) override {
    return {Variable(), Variable(), apply<MaximumGrad>({retained_input(0), retained_input(1), ggx[0]})};
  }
};

class Maximum final : public FunctionNode {
 public:
  const char* name() const override { return "maximum"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x1, x2] = c.args("x1", "x2");
    c.expect(x1.is_floating(), x1.dtype() == x2.dtype());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {pointwise(kernels::Maximum{}, in[0], in[1])};
  }
  Variables backward(const Variables& gy) override {
    const Variable x1 = retained_input(0), x2 = retained_input(1);
    return {needs_grad(0) ? apply<MaximumGrad<kernels::MaximumGrad>>({x1, x2, gy[0]}) : Variable(),
            needs_grad(1) ? apply<MaximumGrad<kernels::MaximumGradSecond>>({x1, x2, gy[0]}) : Variable()};
  }
};

}  // namespace

Variable maximum(const Variable& x1, const Variable& x2) {
  if (x1.shape() == x2.shape()) return apply<Maximum>({x1, x2});
  const Shape shape = broadcast_shapes(x1.shape(), x2.shape(), "F::maximum");
  return apply<Maximum>({broadcast_to(x1, shape), broadcast_to(x2, shape)});
}

}  // namespace kusari::functions
